"""What is proven correct is never pruned, whatever the rules, and what is correct survives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.gate import Opinion
from pruner.rule import Finding
from pruner.task import Decision, Task
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from pruner.verdict import WHITELIST

GPU: Any = load_chip("a100-sxm-40gb")
N = 6


@dataclass(frozen=True)
class Mask:
    """Keeps what it is told to; ``number`` makes several of them."""

    number: int = 0
    keep: tuple[bool, ...] = ()
    hard: bool = False

    name: ClassVar[str] = "mask"
    stage: ClassVar[str] = "trial"
    joint: ClassVar[bool] = False
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)

    def check(self, table: Any, *_: Any) -> Finding:
        keep = np.array(self.keep)
        ones = np.ones(len(keep))
        return Finding(keep, "quantity", ones + ~keep, ones, "B", "because")


@dataclass
class Shut:
    """A gate that prunes everything."""

    ready: ClassVar[bool] = True
    threshold_now: ClassVar[float] = 0.85
    cautious: ClassVar[bool] = False
    seen: list[Any] = field(default_factory=list)

    def opine(self, x: Any) -> Opinion:
        n = len(x)
        return Opinion(np.ones(n), np.ones(n), 1.0, np.ones(n, dtype=bool))

    def observe(self, *seen: Any) -> None:
        self.seen.append(seen)


masks = st.lists(st.booleans(), min_size=N, max_size=N).map(tuple)
rules = st.lists(st.tuples(masks, st.booleans()), max_size=4)


def made(found: Any) -> list[Any]:
    return [Mask(i, keep, hard) for i, (keep, hard) in enumerate(found)]


@settings(max_examples=80, deadline=None)
@given(rules, masks, st.booleans(), st.integers(0, 3))
def test_whitelisted_candidates_are_kept_whatever_objects(found, listed, gated, seed) -> None:
    names = [f"c{i}" for i in range(N)]
    proven = {name for name, keep in zip(names, listed, strict=True) if keep}
    everything = Mask(9, (False,) * N, True)
    for prune_all in ([], [everything]):
        stage = TrialStage(
            [*made(found), *prune_all], Shut() if gated else None, GPU, seed=seed, whitelist=proven
        )
        judged = stage.judge(KernelTable.of("gpu_sm", blocks=[1] * N), names)
        assert judged.keep[np.array(listed)].all()
        for i in np.flatnonzero(judged.listed):
            said = judged.explain(int(i))
            assert said.verdict.keep
            assert said.verdict.rule == WHITELIST
            assert said.chain[-1] == said.verdict
            assert not all(v.keep for v in said.chain)
        assert not prune_all or judged.listed.tolist() == list(listed)


@settings(max_examples=80, deadline=None)
@given(rules, masks)
def test_values_of_whitelisted_schedules_stay_and_no_decision_is_emptied(found, listed) -> None:
    task = Task("t", "gpu_sm", (Decision("d", "unroll", np.arange(N)[:, None]),))
    protected: Mapping[str, Any] = {"d": np.array(listed)}
    everything = Mask(9, (False,) * N, True)
    result = TaskStage([*made(found), everything], GPU).run(task, protected)
    assert result.allowed["d"].any()
    assert result.allowed["d"][np.array(listed)].all()
    for i in np.flatnonzero(protected["d"]):
        said = result.explain("d", int(i))
        assert said.verdict.keep
        assert said.verdict.rule == WHITELIST  # the last rule objects to everything
        assert said.chain[-1] == said.verdict


@settings(max_examples=80, deadline=None)
@given(rules)
def test_a_batch_always_keeps_one_that_no_limit_objects_to_where_there_is_one(found) -> None:
    stage = TrialStage(made(found), None, GPU, epsilon=0.0)
    judged = stage.judge(KernelTable.of("gpu_sm", blocks=[1] * N), [f"c{i}" for i in range(N)])
    limits = [keep for keep, hard in found if hard]
    possible = np.logical_and.reduce([np.ones(N, dtype=bool), *map(np.array, limits)])
    assert judged.keep.any()
    assert not possible.any() or (judged.keep & possible).any()


def test_while_everything_fails_one_that_soft_rules_prune_is_measured() -> None:
    """The rule keeps only what cannot work; what can is found all the same."""
    table, names = KernelTable.of("gpu_sm", blocks=[1] * N), [f"c{i}" for i in range(N)]
    soft = Mask(0, (True, False, False, False, True, True))
    stage = TrialStage([soft], None, GPU, epsilon=0.0)
    assert stage.judge(table, names).keep.tolist() == list(soft.keep)
    stage.observe(table.take_candidates([0]), names[:1], [np.inf])
    judged = stage.judge(table, names)
    assert judged.keep.tolist() == [True, True, False, False, True, True]
    assert "nothing that the rules leave has worked" in str(judged.note)
    stage.observe(table.take_candidates([1]), names[1:2], [7.0])
    assert stage.judge(table, names).keep.tolist() == list(soft.keep)
    limit = TrialStage([Mask(0, soft.keep, True)], None, GPU, epsilon=0.0)
    limit.observe(table.take_candidates([0]), names[:1], [np.inf])
    assert limit.judge(table, names).keep.tolist() == list(soft.keep)
