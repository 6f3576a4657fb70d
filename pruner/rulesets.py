"""The rule sets that ship, and how users add their own rules to one.

``default`` is safe: hard limits, and performance rules only where another candidate is certain to
be at least as good; on a real CPU, where nothing is certain before it is measured, rules of thumb
that probes keep honest.  ``as-described`` is the published description to the letter, and not safe.
``heuristic`` is the mean-cost rule of the Ansor description alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pruner.gate import GateOptions
from pruner.registry import installed
from pruner.rule import Rule, RuleError
from pruner.spec import print_rule
from pruner.task import TaskRule

_HARD = (
    "tvm-verifier{limit=threads}",
    "tvm-verifier{limit=thread_floor}",
    "tvm-verifier{limit=shared}",
    "tvm-verifier{limit=pipeline}",
    "tvm-verifier{limit=ramp}",
    "tvm-verifier{limit=vector}",
    "capacity{scope=l1}",
    "capacity{scope=l0a}",
    "capacity{scope=l0b}",
    "capacity{scope=l0c}",
    "capacity{scope=ub}",
    "capacity{scope=nram}",
    "capacity{scope=wram}",
    "int-overflow",
)

_VALUES = (
    "value-threads{bound=most}",
    "value-threads{bound=least}",
    "value-capacity{scope=shared}",
    "value-capacity{scope=l1}",
    "value-capacity{scope=l0a}",
    "value-capacity{scope=l0b}",
    "value-capacity{scope=l0c}",
    "value-capacity{scope=ub}",
    "value-capacity{scope=nram}",
    "value-capacity{scope=wram}",
    "value-capacity{scope=sram}",
    "value-pipeline",
    "value-completion",
)

_CPU = ("vector-fill", "idle-cores", "accumulator-tile", "cache-tile", "unrolled-code")

RULE_SETS: dict[str, tuple[str, tuple[str, ...]]] = {  # name -> version, printed rules
    "default": (
        "1.1.0",
        (
            "unit-split",
            "operator-pattern",
            *_VALUES,
            *_HARD,
            "sram-fallback",
            "roofline-bound",
            *_CPU,
        ),
    ),
    "as-described": (
        "1.1.0",
        (
            "unit-split",
            "operator-pattern",
            "split-multiple{multiple=16}",
            "vector-values{table=as_described}",
            "reduce-thread-split{max_length=32}",
            *_VALUES,
            *_HARD,
            "tensor-blocks",
            "vector-length{table=as_described}",
            "sram-fallback",
        ),
    ),
    "heuristic": ("1.0.0", ("mean-cost",)),
}


_PLUS = re.compile(r"\+(?![^{]*\})")  # not within braces

# Probability above 0.85 and nothing else: what is as good as the best has no protection.
LITERAL_GATE = GateOptions(caution=0.0)


@dataclass(frozen=True)
class Rules:
    """A loaded rule set: ``name`` is ``default@1.1.0``, with ``+N`` for N rules of users' files.

    ``gate`` is what the set wants of the learned gate.
    """

    name: str
    task: tuple[TaskRule, ...]
    trial: tuple[Rule, ...]
    gate: GateOptions = field(default_factory=GateOptions)

    @property
    def specs(self) -> tuple[str, ...]:
        """Every rule as it is printed, task stage first."""
        return tuple(print_rule(rule) for rule in (*self.task, *self.trial))

    @staticmethod
    def row(rule: Any) -> dict[str, str]:
        """One line of a listing: stage, rule, kind, backends, doc."""
        return {
            "stage": rule.stage,
            "rule": print_rule(rule),
            "kind": "limit" if rule.hard else "performance",
            "backends": ", ".join(rule.backends),
            "doc": (type(rule).__doc__ or "").strip().splitlines()[0].replace("``", ""),
        }


def rule_set(name: str, files: Iterable[str | Path] = ()) -> Rules:
    """A shipped rule set and, behind its rules, every rule of the given ``.py`` files.

    ``name`` may add shipped rules: ``default+core-starvation{min_share=0.5}``.

    Raises
    ------
    RuleError
        No such rule set or rule; a file that cannot be loaded; a rule without defaults for its
        fields.
    """
    base, *more = _PLUS.split(name)
    if base not in RULE_SETS:
        raise RuleError(f"rule set {base!r}: unknown; known: {', '.join(RULE_SETS)}")
    version, specs = RULE_SETS[base]
    registry, label = installed(), f"{name}@{version}"
    rules = [registry.parse(spec) for spec in (*specs, *more)]
    for path in files:
        longer = registry.with_file(path)
        extra = [n for n in longer.classes if n not in registry.classes]
        rules += [longer.parse(n) for n in extra]
        registry, label = longer, f"{label}+{len(extra)}"
    return Rules(
        label,
        tuple(r for r in rules if r.stage == "task"),
        tuple(r for r in rules if r.stage == "trial"),
        LITERAL_GATE if base == "as-described" else GateOptions(),
    )
