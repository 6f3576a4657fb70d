"""From rules and a chip to a programme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from pruner.containment import NoAnswer, patience
from pruner.draft import draft_us
from pruner.features import FEATURES, row_features
from pruner.recording.graph import Graph, NotRecordable
from pruner.recording.programme import (
    Check,
    Column,
    Constant,
    Instruction,
    Measure,
    Programme,
)
from pruner.recording.table import Layout, RecordingTable, recording
from pruner.recording.traced import Traced, one_value
from pruner.rule import Finding, Rule
from pruner.spec import print_rule

T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """A programme and what it leaves out.

    ``rules`` are the positions of the rules that ``programme.checks`` stands for, ``words`` their
    findings (without columns that mean anything), ``left_out`` says why of every other rule, by its
    printed form, and of ``features``.
    """

    programme: Programme
    rules: tuple[int, ...]
    words: tuple[Finding, ...]
    left_out: dict[str, str]

    @cached_property
    def at(self) -> NDArray[np.int64]:
        """Index of a check -> position of its rule; -1 (none objects) -> -1."""
        return np.array((*self.rules, -1), np.int64)


class Recorder:
    """Records rules of one chip for tables of one layout; each rule once, however often asked."""

    def __init__(self, chip: Chip, layout: Layout) -> None:
        self._chip, self._layout, self._graph = chip, layout, Graph()
        self._table: Any = RecordingTable(self._graph, layout)
        self._known: dict[int, tuple[Rule, tuple[Finding, Check] | str]] = {}
        self._measures: tuple[Measure, ...] | str | None = None
        self._draft: int | str | None = None

    def record(self, rules: Sequence[Rule], *, gate: bool = False, draft: bool = False) -> Recorded:
        """Run each rule's ``check`` on a recording table; with ``gate``, the 38 features too, with
        ``draft`` the draft.
        """
        left_out: dict[str, str] = {}
        found: dict[int, tuple[Finding, Check]] = {}
        for i, rule in enumerate(rules):
            made = self._rule(rule)
            if isinstance(made, str):
                left_out[print_rule(rule)] = made
            else:
                found[i] = made
        measures = self._features() if gate else ()
        if isinstance(measures, str):
            left_out["features"] = measures
            measures = ()
        drafted = self._drafted() if draft else None
        if isinstance(drafted, str):
            left_out["draft"], drafted = drafted, None
        programme = assemble(
            self._graph, self._layout, [check for _, check in found.values()], measures, drafted
        )
        words = tuple(finding for finding, _ in found.values())
        return Recorded(programme, tuple(found), words, left_out)

    def leave(self, rule: Rule, reason: str) -> None:
        """Leave the rule out from now on."""
        self._known[id(rule)] = rule, reason

    def _rule(self, rule: Rule) -> tuple[Finding, Check] | str:
        if id(rule) not in self._known:  # the rule is kept, so that its id stays its own
            self._known[id(rule)] = rule, _tried(lambda: self._check(rule))
        return self._known[id(rule)][1]

    def _features(self) -> tuple[Measure, ...] | str:
        if self._measures is None:
            self._measures = _tried(self._measured)
        return self._measures

    def _drafted(self) -> int | str:
        if self._draft is None:
            self._draft = _tried(
                lambda: _output(self._graph, self._table.n, draft_us(self._table, self._chip))
            )
        return self._draft

    def _check(self, rule: Rule) -> tuple[Finding, Check]:
        finding: Any = rule.check(self._table, self._chip)
        if not isinstance(finding, Finding) or not finding.reason:
            raise NotRecordable("an answer that is no finding")
        sides = finding.keep, finding.need, finding.have
        keep, need, have = (_output(self._graph, self._table.n, side) for side in sides)
        if [self._graph.nodes[x].result for x in (keep, need, have)] != ["b", "f", "f"]:
            raise NotRecordable("a finding of other types than bool, float64, float64")
        return finding, Check(print_rule(rule), bool(rule.hard), keep, need, have)

    def _measured(self) -> tuple[Measure, ...]:
        rows = row_features(self._table, self._chip)
        graph, n = self._graph, self._table.n
        values = [graph.cast(_output(graph, n, rows[f.name]), "f") for f in FEATURES]
        return tuple(
            Measure(feature.name, value, feature.how.__name__)
            for feature, value in zip(FEATURES, values, strict=True)
        )


def record(
    rules: Sequence[Rule], chip: Chip, layout: Layout, *, gate: bool = False, draft: bool = False
) -> Recorded:
    """What a new :class:`Recorder` records."""
    return Recorder(chip, layout).record(rules, gate=gate, draft=draft)


def _tried(work: Callable[[], T]) -> T | str:
    """What comes of it, or why nothing does."""
    try:
        with patience(), recording(), np.errstate(all="ignore"):
            return work()
    except NotRecordable as reason:
        return str(reason)
    except (Exception, NoAnswer) as error:  # whatever a rule does with what is no numbers
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _output(graph: Graph, n: int, value: Any) -> int:
    if not isinstance(value, Traced):
        if not isinstance(value, np.ndarray) or value.shape != (n,):
            raise NotRecordable("an answer that is no column")
        return graph.constant(one_value(value, n))
    if value.level != "row":
        raise NotRecordable("an answer for candidates instead of rows")
    return value.index


def assemble(
    graph: Graph,
    layout: Layout,
    checks: Sequence[Check],
    measures: Sequence[Measure],
    draft: int | None = None,
) -> Programme:
    """The nodes that the outputs need, renumbered."""
    ends = [n for c in checks for n in (c.keep, c.need, c.have)] + [m.value for m in measures]
    needed = _reachable(graph, ends if draft is None else [*ends, draft])
    columns = [i for i in needed if graph.nodes[i].op == "column"]
    constants = [i for i in needed if graph.nodes[i].op == "constant"]
    rest = [i for i in needed if graph.nodes[i].op not in ("column", "constant")]
    number = {node: i for i, node in enumerate((*columns, *constants, *rest))}
    at: Callable[[int], int] = number.__getitem__
    nodes = graph.nodes
    return Programme(
        backend=layout.backend,
        several_rows=layout.several_rows,
        columns=tuple(Column(str(nodes[i].value), nodes[i].result) for i in columns),
        constants=tuple(Constant(nodes[i].result, repr(nodes[i].value)) for i in constants),
        instructions=tuple(
            Instruction(_op(graph, i), nodes[i].kind, tuple(map(at, nodes[i].args))) for i in rest
        ),
        checks=tuple(Check(c.rule, c.hard, at(c.keep), at(c.need), at(c.have)) for c in checks),
        features=tuple(Measure(m.name, at(m.value), m.how) for m in measures),
        draft=None if draft is None else at(draft),
    )


def _op(graph: Graph, i: int) -> str:
    node = graph.nodes[i]
    return node.op if node.op != "cast" else f"to_{node.result}"


def _reachable(graph: Graph, ends: Sequence[int]) -> list[int]:
    seen, todo = set(), list(ends)
    while todo:
        i = todo.pop()
        if i not in seen:
            seen.add(i)
            todo += graph.nodes[i].args
    return sorted(seen)
