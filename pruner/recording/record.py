"""From rules and a chip to a programme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hwsim.chip import Chip
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


def record(rules: Sequence[Rule], chip: Chip, layout: Layout, *, gate: bool = False) -> Recorded:
    """Run each rule's ``check`` once on a recording table; with ``gate``, the 38 features too."""
    graph = Graph()
    left_out: dict[str, str] = {}
    table: Any = RecordingTable(graph, layout)
    with recording(), np.errstate(all="ignore"):
        found = _findings(graph, table, rules, chip, left_out)
        measures = _measures(graph, table, chip, left_out) if gate else ()
    programme = assemble(graph, layout, [check for _, _, check in found], measures)
    at, words = tuple(i for i, _, _ in found), tuple(finding for _, finding, _ in found)
    return Recorded(programme, at, words, left_out)


def _findings(
    graph: Graph, table: Any, rules: Sequence[Rule], chip: Chip, left_out: dict[str, str]
) -> list[tuple[int, Finding, Check]]:
    found = []
    for i, rule in enumerate(rules):
        spec = print_rule(rule)
        try:
            finding = rule.check(table, chip)
            found.append((i, finding, _check(graph, spec, rule.hard, finding)))
        except Exception as error:  # whatever a rule does with what is no numbers
            left_out[spec] = _line(error)
    return found


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, NotRecordable) else f"{type(error).__name__}: {text}"


def _check(graph: Graph, spec: str, hard: bool, finding: Any) -> Check:
    if not isinstance(finding, Finding) or not finding.reason:
        raise NotRecordable("an answer that is no finding")
    keep, need, have = (_output(graph, x) for x in (finding.keep, finding.need, finding.have))
    if [graph.nodes[x].result for x in (keep, need, have)] != ["b", "f", "f"]:
        raise NotRecordable("a finding of other types than bool, float64, float64")
    return Check(spec, bool(hard), keep, need, have)


def _measures(
    graph: Graph, table: Any, chip: Chip, left_out: dict[str, str]
) -> tuple[Measure, ...]:
    try:
        rows = row_features(table, chip)
        values = [graph.cast(_output(graph, rows[feature.name]), "f") for feature in FEATURES]
    except Exception as error:  # a backend's features may do what rules may do
        left_out["features"] = _line(error)
        return ()
    return tuple(
        Measure(feature.name, value, feature.how.__name__)
        for feature, value in zip(FEATURES, values, strict=True)
    )


def _output(graph: Graph, value: Any) -> int:
    if not isinstance(value, Traced):
        return graph.constant(one_value(value))
    if value.level != "row":
        raise NotRecordable("an answer for candidates instead of rows")
    return value.index


def assemble(
    graph: Graph, layout: Layout, checks: Sequence[Check], measures: Sequence[Measure]
) -> Programme:
    """The nodes that the outputs need, renumbered."""
    ends = [n for c in checks for n in (c.keep, c.need, c.have)] + [m.value for m in measures]
    needed = _reachable(graph, ends)
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
