"""From findings to verdicts, and from a chain of verdicts to text for a terminal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hwsim.chip import Chip
from pruner.rule import Finding
from pruner.verdict import Basis, Benefit, Evidence, Explanation, Stage, Verdict


def verdict_of(
    stage: Stage, spec: str, hard: bool, finding: Finding, row: int, chip: Chip
) -> Verdict:
    """A rule's verdict on one row of its finding, numbers filled in."""
    keep = bool(finding.keep[row])
    need, have = float(finding.need[row]), float(finding.have[row])
    return Verdict(
        keep=keep,
        stage=stage,
        rule=spec,
        reason=fill(finding.reason, need, have, finding.unit) if not keep else "within the limit",
        basis=[basis(chip, path) for path in finding.basis],
        evidence=[evidence(finding.quantity, need, have, finding.unit)],
        benefit=None if keep else _benefit(finding, need, have, hard, stage, chip),
    )


def evidence(name: str, need: float, have: float, unit: str) -> Evidence:
    """One comparison; an infinite side is none (JSON has no infinity)."""
    sides = [value if math.isfinite(value) else None for value in (need, have)]
    return Evidence(name=name, need=sides[0], have=sides[1], unit=unit)


def _benefit(
    finding: Finding, need: float, have: float, hard: bool, stage: Stage, chip: Chip
) -> Benefit:
    text = fill(finding.benefit, need, have, finding.unit)
    return Benefit(text=text, saved_s=trial_s(chip, fails=hard) if stage == "trial" else 0.0)


def trial_s(chip: Chip, *, fails: bool = False) -> float:
    """Bench seconds that one trial takes at least: a failing compile ends there, a run goes on."""
    bench = chip.bench
    if fails:
        return bench.compile_s
    return bench.compile_s + bench.upload_s + bench.run_overhead_s + bench.min_run_s


def fill(template: str, need: float, have: float, unit: str) -> str:
    """A sentence with its ``{need}``, ``{have}``, ``{excess}`` and ``{unit}`` filled in."""
    numbers = {"need": need, "have": have, "excess": need - have}
    out = template.replace("{unit}", unit)
    for name, value in numbers.items():
        out = out.replace(f"{{{name}}}", f"{value:.6g}" if value % 1 else f"{value:.0f}")
    return out


def basis(chip: Chip, path: str) -> Basis:
    """What the chip file says at ``path`` (dotted), and where it has it from."""
    value: Any = chip
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else getattr(value, key)
    fact = next((chip.provenance[p] for p in _prefixes(path) if p in chip.provenance), None)
    return Basis(
        chip=chip.name,
        field=path,
        value=_plain(value),
        mark=fact.mark if fact else "",
        source=fact.source if fact else "",
    )


def _prefixes(path: str) -> list[str]:
    keys = path.split(".")
    return [".".join(keys[:i]) for i in range(len(keys), 0, -1)]


def _plain(value: Any) -> float | str | list[float]:
    if isinstance(value, list | tuple):
        return [float(v) for v in value]
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    return str(value)


def to_text(explanation: Explanation) -> str:
    """The chain as plain lines for a terminal; control characters of untrusted text are shown."""
    e = explanation
    head = [f"{e.subject} on {e.chip} {e.chip_version}, rules {e.rule_set}"]
    body = [line for i, v in enumerate(e.chain, 1) for line in _lines(i, v)]
    broken = [f"     {rule}: left out, {error}" for rule, error in e.disabled.items()]
    notes = [f"     note: {note}" for note in e.notes]
    word = "measured as a probe" if e.verdict.probe else "kept" if e.verdict.keep else "pruned"
    by = "" if e.verdict.rule == "none" else f" by {e.verdict.rule}"
    tail = [f"=> {word}{by}: {e.verdict.reason}"]
    return "\n".join(_printable(line) for line in head + body + broken + notes + tail)


def _lines(number: int, verdict: Verdict) -> list[str]:
    lines = [f"{number:3d}. {'keep ' if verdict.keep else 'PRUNE'} {verdict.rule}"]
    if not verdict.keep:
        lines.append(f"     {verdict.reason}")
    lines += [f"     {e}" for e in verdict.evidence]
    if verdict.probability is not None:
        lines.append(f"     probability of being worthless {verdict.probability:.3f}")
    if not verdict.keep:
        lines += [f"     basis: {b}" for b in verdict.basis]
        if verdict.benefit is not None:
            saved = verdict.benefit.saved_s
            lines.append(
                f"     saves: {verdict.benefit.text}" + (f", {saved:.3g} s" if saved else "")
            )
    return lines


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
