"""For authors of rules: hold a rule to its contract, on random kernel tables.

>>> from hwsim.chips import load_chip
>>> from pruner.rules.capacity import Capacity
>>> conform(Capacity("l1"), load_chip("ascend-910b1"))
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.columns import columns_of
from hwsim.table import KernelTable
from pruner.containment import check_finding
from pruner.registry import builtin
from pruner.rule import Finding, Rule, RuleError
from pruner.spec import parse_rule, print_rule
from pruner.task import Axis, Decision, Quantity, Space, Task, TaskRule, Term

_COLUMNS = ("keep", "need", "have")


def conform(rule: Rule, chip: Chip, *, n: int = 200, seed: int = 0) -> None:
    """Hold a trial rule to its contract.

    Raises
    ------
    RuleError
        Names the rule and what it broke: it does not print and parse back, it raises, its finding
        is malformed, it writes to the table, it answers differently the second time, or its answer
        for a candidate depends on the candidate's place in the table.
    """
    _round_trip(rule)
    if chip.backend not in rule.backends:
        raise RuleError(f"{print_rule(rule)}: not for backend {chip.backend}")
    rng = np.random.default_rng(seed)
    for size in (0, 1, n):
        table = random_table(chip.backend, size, rng)
        before = pickle.dumps(table)
        finding = _checked(rule, table, chip)
        if pickle.dumps(table) != before:
            raise RuleError(f"{print_rule(rule)}: writes to the table")
        _same(rule, finding, _checked(rule, table, chip), "answers differently the second time")
    order = rng.permutation(table.n_candidates)
    again = _checked(rule, table.take_candidates(order), chip)
    _same(rule, _permuted(finding, table, order), again, "depends on the order of the candidates")


def conform_task(rule: TaskRule, chip: Chip, *, seed: int = 0) -> None:
    """Hold a task rule to the same contract, on a random task; raises as :func:`conform`."""
    _round_trip(rule)
    task = random_task(chip.backend, np.random.default_rng(seed))
    before = [d.values.tobytes() for d in task.decisions]
    for decision in task.decisions:
        said = [rule.check(Space(task), decision, chip) for _ in range(2)]
        if (said[0] is None) != (said[1] is None):
            raise RuleError(f"{print_rule(rule)}: answers differently the second time")
        if said[0] is not None and said[1] is not None:
            check_finding(said[0], len(decision.values))
            _same(rule, said[0], said[1], "answers differently the second time")
    if [d.values.tobytes() for d in task.decisions] != before:
        raise RuleError(f"{print_rule(rule)}: writes to the task")


def random_table(backend: str, n: int, rng: np.random.Generator) -> KernelTable:
    """``n`` candidates of one or two kernels, every column drawn log-uniformly around a default."""
    kernels = rng.integers(1, 3, size=n)
    rows = int(kernels.sum())
    columns: dict[str, NDArray[Any]] = {}
    for column in columns_of(backend).values():
        high = 22.0 if column.dtype == "float64" else 8.0
        drawn = np.exp2(rng.uniform(0, high, size=rows))
        columns[column.name] = drawn if column.dtype == "float64" else drawn.astype(np.int64)
    for name in ("in_bits", "acc_bits", "out_bits"):
        columns[name] = rng.choice([8, 16, 32], size=rows)
    columns["macs_useful"] = columns["macs"] * rng.uniform(0, 1, size=rows)
    columns["candidate"] = np.repeat(np.arange(n, dtype=np.int64), kernels)
    return KernelTable(backend, rows, columns)


def random_task(backend: str, rng: np.random.Generator) -> Task:
    """A matmul-like sketch: two tiled axes, a reduction, a vector length, a thread count."""
    i = Axis("i", 64, "float16", reuse=64.0)
    k = Axis("k", 32, "float16", reduction=True)
    one = Axis("one", 1, "float16")
    tiles = np.array([[64 // (a * b), a, b] for a in (1, 2, 4, 16) for b in (1, 4)])
    lanes = rng.permutation([1, 2, 4, 8, 16])[:, None]
    scopes = ("shared", "l1", "l0a", "l0b", "l0c", "ub", "nram", "wram", "sram")
    decisions = (
        Decision("i.tile", "tile", tiles, ("core", "thread", "serial"), i),
        Decision("k.threads", "threads", np.array([[1], [8], [32]]), ("thread",), k),
        Decision("one.threads", "threads", np.array([[1], [4]]), ("thread",), one),
        Decision("a.vector", "vector_lanes", lanes, ("serial",), i),
    )
    size = float(2 ** rng.integers(10, 22))
    terms = (Term(size, (("i.tile", 1), ("i.tile", 2))), Term(2.0, (("a.vector", 0),)))
    quantities = [Quantity(f"{scope}_bytes", "B", terms) for scope in scopes]
    threads = Term(32.0, (("i.tile", 1), ("k.threads", 0)))
    quantities.append(Quantity("threads", "threads", (threads,)))
    steps = Term(1.0, (("i.tile", 0),))
    quantities.append(Quantity("pipeline_extent", "steps", (steps,)))
    return Task("random", backend, decisions, tuple(quantities), matmul=True, thread_floor=64)


def _round_trip(rule: Any) -> None:
    text = print_rule(rule)
    known = {**builtin().classes, rule.name: type(rule)}
    if parse_rule(text, known) != rule:
        raise RuleError(f"{text}: does not parse back to an equal rule")


def _checked(rule: Rule, table: KernelTable, chip: Chip) -> Finding:
    try:
        finding = rule.check(table, chip)
        check_finding(finding, table.n)
    except Exception as error:
        raise RuleError(f"{print_rule(rule)}: {type(error).__name__}: {error}") from error
    return copy.copy(finding)


def _same(rule: Any, one: Finding, other: Finding, complaint: str) -> None:
    for name in _COLUMNS:
        if not np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True):
            raise RuleError(f"{print_rule(rule)}: {complaint} ({name})")


def _permuted(finding: Finding, table: KernelTable, order: NDArray[np.int64]) -> Finding:
    ids = table["candidate"]
    rows = np.concatenate([np.flatnonzero(ids == c) for c in order])
    columns = {name: getattr(finding, name)[rows] for name in _COLUMNS}
    return Finding(quantity=finding.quantity, unit=finding.unit, reason=finding.reason, **columns)
