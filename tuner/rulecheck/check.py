"""Every rule on every space, contained, with a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pruner.host import Described, HostError, RuleHost
from pruner.rule import RuleError
from tuner.rulecheck.case import Case
from tuner.rulecheck.findings import Findings, hold
from tuner.rulecheck.verdict import Bounds, objections, remarks


@dataclass(frozen=True)
class CaseResult:
    """One rule on one space: ``findings`` is None where the rule broke its contract."""

    case: Case
    findings: Findings | None
    objections: list[str]
    remarks: list[str]

    def to_json(self) -> dict[str, Any]:
        """The measures as keys, beside the case's names."""
        found = self.findings
        return {
            "chip": self.case.chip.name,
            "workload": self.case.problem.workload.name,
            "space": self.case.problem.space,
            "exhaustive": self.case.exhaustive,
            **({} if found is None else found.measures),
            "cost": {} if found is None else dict(found.cost),
            "objections": self.objections,
            "remarks": self.remarks,
            "worst": [] if found is None else [msgspec.to_builtins(w) for w in found.worst],
        }


@dataclass(frozen=True)
class RuleResult:
    """One rule's verdict over all spaces that it can read."""

    rule: Described
    cases: list[CaseResult] = field(default_factory=list)

    @property
    def reasons(self) -> list[str]:
        """What speaks against shipping, each with the space where it was found."""
        found = []
        for c in self.cases:
            found += [f"{why} ({c.case.label})" for why in c.objections]
        return found

    @property
    def ships(self) -> bool:
        """Whether nothing objects."""
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        """Rule, verdict, reasons and one object a space."""
        return {
            "rule": self.rule.spec,
            "stage": self.rule.stage,
            "verdict": "ship" if self.ships else "do not ship",
            "reasons": self.reasons,
            "cases": [c.to_json() for c in self.cases],
        }


def check_rules(
    host: RuleHost, rules: Sequence[Described], cases: Sequence[Case], bounds: Bounds
) -> Iterator[RuleResult]:
    """Hold each rule against the cases of its backends.

    Raises
    ------
    RuleError
        A rule is for no backend among the cases.
    """
    for rule in rules:
        fitting = [case for case in cases if case.chip.backend in rule.backends]
        if not fitting:
            raise RuleError(
                f"{rule.spec}: is for {', '.join(rule.backends) or 'no backend'}, which none of the"
                " chips has"
            )
        yield RuleResult(rule, [_held(host, rule, case, bounds) for case in fitting])


def _held(host: RuleHost, rule: Described, case: Case, bounds: Bounds) -> CaseResult:
    try:
        found = hold(host, rule, case)
    except HostError as error:
        return CaseResult(case, None, [str(error)], [])
    said = [*found.remarks, *remarks(found.measures)]
    return CaseResult(case, found, objections(found.measures, bounds), said)
