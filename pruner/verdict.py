"""Verdicts and their JSON: every keep or prune with its rule, hardware basis, evidence, benefit.

The JSON of an :class:`Explanation` is versioned by :data:`SCHEMA_VERSION`: a new optional key
raises the minor number, anything that could break a reader the major one.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = "1.1.0"

Stage = Literal["task", "trial", "verifier"]  # verifier: TVM's own postprocessors


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """One number of the chip that a rule leans on.

    ``field`` is the path in the chip file (its name carries the unit), ``mark`` and ``source`` say
    where the number comes from (see :mod:`hwsim.chip`); both are empty where the file does not say.
    """

    chip: str
    field: str
    value: float | str | list[float]
    mark: str = ""
    source: str = ""

    def __str__(self) -> str:
        """``ascend-910b1 l0a_kib = 64 (V: CANN 8.1 ...)``."""
        origin = f" ({self.mark}: {self.source})" if self.mark else ""
        value = f"{self.value:g}" if isinstance(self.value, float) else self.value
        return f"{self.chip} {self.field} = {value}{origin}"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison: the candidate's side and the chip's side, both in ``unit``.

    ``None`` is no number at all: a limit that does not exist (yet).
    """

    name: str
    need: float | None
    have: float | None
    unit: str

    def __str__(self) -> str:
        """``l0a_bytes: need 131072 B, have 65536 B``."""
        sides = [f"{v:.10g} {self.unit}" if v is not None else "-" for v in (self.need, self.have)]
        return f"{self.name}: need {sides[0]}, have {sides[1]}"


class Benefit(msgspec.Struct, frozen=True, kw_only=True):
    """What pruning the candidate saves: bench seconds of this trial, and in words what else."""

    text: str
    saved_s: float = 0.0


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One rule's (or the gate's) word on one candidate or one decision value.

    ``rule`` is the printed rule, e.g. ``capacity{scope=l0a}``, which parses back.  ``probability``
    is the gate's: that the candidate fails or is worse than the best so far.  ``probe`` marks a
    candidate that would have been pruned and is measured all the same, to check the pruner.
    """

    keep: bool
    stage: Stage
    rule: str
    reason: str
    basis: list[Basis] = []
    evidence: list[Evidence] = []
    benefit: Benefit | None = None
    probability: float | None = None
    probe: bool = False


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of one candidate or value: every rule in order, then the final verdict.

    ``subject`` names the candidate (its hash) or the decision value; ``verdict`` is the entry of
    ``chain`` that decided, or a plain keep when nothing objected.  ``disabled`` maps a rule that
    broke to what it raised.  ``notes`` say what the run had found out by then of the rules' limits.
    """

    subject: str
    chip: str
    chip_version: str
    rule_set: str
    verdict: Verdict
    chain: list[Verdict]
    disabled: dict[str, str] = {}
    notes: list[str] = []
    schema_version: str = SCHEMA_VERSION


KEPT = "none"  # the ``rule`` of a verdict that nothing objected to


def kept(stage: Stage, reason: str = "no rule objects") -> Verdict:
    """The verdict of a candidate that every rule lets pass."""
    return Verdict(keep=True, stage=stage, rule=KEPT, reason=reason)


WHITELIST = "whitelist"  # the ``rule`` of a verdict that overrules others


def whitelisted(stage: Stage, overruled: str) -> Verdict:
    """The verdict of what is proven correct although the rule ``overruled`` would prune it."""
    reason = f"proven correct, so that {overruled} may not prune it"
    return Verdict(keep=True, stage=stage, rule=WHITELIST, reason=reason)


def to_json(value: msgspec.Struct) -> str:
    """One line of JSON with snake_case keys, the same bytes for the same value."""
    return msgspec.json.encode(value).decode()


def explanation_from_json(text: str | bytes) -> Explanation:
    """The explanation back; ``msgspec.ValidationError`` (a ``ValueError``) names the key."""
    return msgspec.json.decode(text, type=Explanation)


def explanation_schema() -> dict[str, Any]:
    """JSON Schema of :class:`Explanation`, for readers in other languages."""
    return msgspec.json.schema(Explanation)
