"""The draft's objections: heeded until too many were in vain, and again when one was right."""

from __future__ import annotations

import numpy as np

from pruner.dissent import CLOSE_BY, PATIENCE, Dissent

BEST_US, DRAFT_US = 5.0, 10.0


def begun() -> Dissent:
    dissent = Dissent()
    dissent.observe(["best", "other"], np.array([DRAFT_US, 1.0]), np.array([BEST_US, 9.0]))
    return dissent


def objected(dissent: Dissent, name: str, latency_us: float) -> bool:
    """Whether the draft is heard about a twin of the best, which is then measured."""
    heard = bool(dissent.heard([name], np.array([DRAFT_US]))[0])
    dissent.observe([name], np.array([DRAFT_US]), np.array([latency_us]))
    return heard


def test_it_objects_to_what_the_draft_puts_next_to_the_best_measured() -> None:
    draft = DRAFT_US * np.array([0.5, CLOSE_BY - 0.01, CLOSE_BY + 0.01])
    assert begun().heard(["a", "b", "c"], draft).tolist() == [True, True, False]


def test_nothing_is_close_to_the_best_while_nothing_has_worked() -> None:
    dissent = Dissent()
    assert not dissent.heard(["a"], np.array([1e-9])).any()
    dissent.observe(["a"], np.array([1.0]), np.array([np.inf]))
    assert not dissent.heard(["b"], np.array([1e-9])).any()


def test_objections_in_vain_are_heeded_no_longer_until_a_probe_bears_one_out() -> None:
    dissent = begun()
    heard = [objected(dissent, f"{i}", np.inf if i % 2 else 2 * BEST_US) for i in range(PATIENCE)]
    assert all(heard)
    assert not objected(dissent, "vain", 2 * BEST_US)
    assert not objected(dissent, "probe", 1.04 * BEST_US)  # but measured, as it happens
    assert objected(dissent, "again", 2 * BEST_US)


def test_one_that_is_borne_out_starts_the_count_anew() -> None:
    dissent = begun()
    for i in range(PATIENCE - 1):
        objected(dissent, f"{i}", 2 * BEST_US)
    objected(dissent, "right", BEST_US)
    assert all(objected(dissent, f"more{i}", 2 * BEST_US) for i in range(PATIENCE))


def test_what_it_did_not_object_to_says_nothing() -> None:
    dissent = begun()
    for i in range(2 * PATIENCE):
        dissent.observe([f"{i}"], np.array([DRAFT_US]), np.array([2 * BEST_US]))
    assert objected(dissent, "twin", BEST_US)
