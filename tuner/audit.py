"""Audit files: a run's log with hashes of all that decided it, and the chain of every decision.

One JSON object, ``schema_version`` as in :mod:`pruner.verdict`: a new optional key raises the minor
number, anything that could break a reader the major one.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from pruner.verdict import Explanation
from traces import Header, LogError
from traces.log import complete_lines
from tuner.bench.folder import PLAN
from tuner.bench.plan import Plan
from tuner.explained import explain_run, rules_of
from tuner.logged import ChangedError, logged_run
from tuner.replay import Verified

SCHEMA, SCHEMA_VERSION = "prunelab-audit", "1.0.0"
_DECIDE = ("prunelab", "apache-tvm", "lightgbm", "numpy")  # whose versions decide what comes out


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """One decision: of a value (``trial`` None), or of a trial, with every rule's word on it."""

    trial: int | None
    explanation: Explanation


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The file.  ``hashes``: of the log's bytes, the printed rules, the rule files, the chip, the
    program, the gate and the store; ``log`` has the log's lines as they are.
    """

    schema: str
    schema_version: str
    versions: dict[str, str]
    header: Header
    plan: Plan | None
    rules: list[str]
    gate: str
    hashes: dict[str, str]
    decisions: list[Chain]
    log: list[str]


@dataclass(frozen=True)
class Source:
    """A log to replay; ``audit`` is the file that it came out of, if it did."""

    log: Path
    audit: Audit | None = None

    def check_chains(self, found: Verified, chip: str | None) -> Verified:
        """The chains of an audit file, derived again; the first that differs is named."""
        if self.audit is None:
            return found
        again = _audit(self.log, chip)
        for key in ("hashes", "rules", "gate"):
            if getattr(again, key) != getattr(self.audit, key):
                return replace(found, difference=f"{key}: others than in the audit file")
        pairs = zip(self.audit.decisions, again.decisions, strict=False)
        for i, (ours, other) in enumerate(pairs):
            if ours != other:
                what = f"decisions[{i}]: the chain of {ours.explanation.subject} differs"
                return replace(found, difference=what)
        if len(self.audit.decisions) != len(again.decisions):
            return replace(found, difference="decisions: others than in the log")
        return found


def export_audit(log: Path, out: Path, chip: str | None = None) -> None:
    """Write the audit file of a log.

    Raises
    ------
    LogError
        As :func:`tuner.logged.logged_run`, or ``out`` cannot be written.
    """
    try:
        out.write_bytes(msgspec.json.encode(_audit(log, chip)) + b"\n")
    except OSError as error:
        raise LogError(f"{out}: cannot be written ({error.strerror})") from None


def _audit(log: Path, chip: str | None) -> Audit:
    run = logged_run(log, chip)
    rules = rules_of(log, run.header, run.plan)
    lines = complete_lines(log)
    gate = msgspec.json.encode(msgspec.to_builtins(rules.gate)).decode()
    chains = [Chain(trial=index, explanation=e) for index, e in explain_run(run, rules)]
    files = run.plan.rule_files if run.plan else ()
    return Audit(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        versions={name: version(name) for name in _DECIDE},
        header=run.header,
        plan=run.plan,
        rules=list(rules.specs),
        gate=gate,
        hashes={
            "log_sha256": _sha256(b"".join(lines)),
            "chip": run.header.chip_hash,
            "workload": run.header.workload_hash,
            "rules": run.header.rules_hash,
            **({"store": run.header.store} if run.header.store else {}),
            "gate_sha256": _sha256(gate.encode()),
            **{f"rule_file_sha256 {f}": _sha256(Path(f).read_bytes()) for f in files},
        },
        decisions=chains,
        log=[line.decode() for line in lines],
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """A log, or the log in an audit file.

    Raises
    ------
    LogError
        Neither; an audit file of another schema, or whose log is not what its hash says.
    """
    audit = _read(path)
    if audit is None:
        yield Source(path)
        return
    if _sha256("".join(audit.log).encode()) != audit.hashes.get("log_sha256"):
        raise ChangedError(f"{path}: the log in it is not what hashes.log_sha256 says")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "runs" / f"{path.name}.jsonl"
        log.parent.mkdir()
        log.write_text("".join(audit.log), encoding="utf-8")
        if audit.plan is not None:
            (Path(folder) / PLAN).write_bytes(msgspec.json.encode(audit.plan))
        yield Source(log, audit)


def _read(path: Path) -> Audit | None:
    """The audit file, None where the file does not say that it is one."""
    if path.suffix == ".jsonl":
        return None
    try:
        content: Any = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError:
        return None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        return None
    said = str(content.get("schema_version"))
    if said.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise LogError(f"{path}: audit schema {said}, this version reads {SCHEMA_VERSION}")
    try:
        return msgspec.convert(content, Audit)
    except msgspec.ValidationError as error:
        raise LogError(f"{path}: no audit file of prunelab ({error})") from None
