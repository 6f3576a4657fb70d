"""The records of a run's log: one JSON object a line, a header first.

The log is the truth of a run: everything that a report says is computed from it.  It holds no wall
clock, so that the same seed gives the same bytes.
"""

from __future__ import annotations

from typing import Any

import msgspec

SCHEMA = 1


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="header", tag_field="record"):
    """First line of a log: what was run, and the hashes of all that decided the outcome."""

    schema: int = SCHEMA
    version: str  # of prunelab
    run: str  # name of the run, unique in its folder
    chip: str
    chip_hash: str
    workload: str
    workload_hash: str
    space: str = ""  # recipe that restricts the design space
    arm: str
    rule_set: str
    rules_hash: str
    strategy: str
    cost_model: str = "mixed"  # what logs without the field were made with
    backend: str
    seed: int
    trials: int
    repeats: int
    batch: int
    store: str = ""  # snapshot of what earlier runs left, see traces.store
    network: str = ""  # whose task the run is; its tasks share one budget


class TaskPrune(msgspec.Struct, frozen=True, kw_only=True, tag="task_prune", tag_field="record"):
    """The values of one sampling instruction that one rule of the task stage removed.

    ``values`` are factor tuples (``4x1x8``) or candidate indices; ``verdict`` is that of the first.
    """

    sketch: int
    decision: str
    values: list[str]
    verdict: Any


class TaskSummary(msgspec.Struct, frozen=True, kw_only=True, tag="task", tag_field="record"):
    """Nodes (instruction, value pairs) of a sketch's schedule tree before and after pruning."""

    sketch: int
    nodes_before: int
    nodes_after: int


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """K latencies or a failure, and what it would have cost on a real bench."""

    latencies_us: list[float]
    failure: str | None = None  # compile_error, launch_error, timeout
    error: str | None = None  # one line with need and have
    bottleneck: str | None = None
    counters: dict[str, float] = {}
    compile_s: float = 0.0
    run_s: float = 0.0

    @property
    def mean_us(self) -> float:
        """Mean latency, ``inf`` for a failure."""
        if not self.latencies_us:
            return float("inf")
        return sum(self.latencies_us) / len(self.latencies_us)


class Trial(msgspec.Struct, frozen=True, kw_only=True, tag="trial", tag_field="record"):
    """A candidate with its verdict and, where it was measured, its measurement.

    ``verdict`` is the deciding one: :class:`pruner.verdict.Verdict` when it is written, a plain
    object when it is read; ``None`` keeps without a remark.
    ``predicted_us`` is what the cost model said of a measured candidate before it learnt from it,
    ``None`` where it said nothing, or failure.  ``virtual_s`` is the virtual clock
    after the batch that the trial belongs to.
    """

    index: int
    round: int
    candidate: str
    sketch: int
    decisions: list[int]
    verdict: Any = None
    measurement: Measurement | None = None
    predicted_us: float | None = None
    virtual_s: float = 0.0


class Note(msgspec.Struct, frozen=True, kw_only=True, tag="note", tag_field="record"):
    """Something a user should know: a fallback, a rule that raised, a starved search."""

    round: int
    text: str


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="record"):
    """Last line of a finished run."""

    measured: int
    pruned: int
    failed: int
    best_us: float | None
    best_candidate: str | None
    virtual_s: float
    reason: str  # why it stopped: "budget", "space exhausted", "converged"


Record = Header | TaskPrune | TaskSummary | Trial | Note | End
