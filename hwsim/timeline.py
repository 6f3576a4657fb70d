"""A simulated timeline as a trace file that Perfetto and ``chrome://tracing`` open.

The format is the Trace Event Format: complete events (``"ph": "X"``) on one track a unit, counter
events (``"C"``) for levels that rise and fall, and metadata (``"M"``) that names the tracks.
Timestamps are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Span = tuple[str, str, float, float]  # unit, name, start_us, end_us
Level = tuple[str, float, float]  # counter, time_us, value from then on

_PROCESS = 1


def trace_events(
    spans: Sequence[Span], levels: Iterable[Level] = (), title: str = "kernel"
) -> list[dict[str, Any]]:
    """Trace events of ``spans`` and ``levels``: names first, then by time.

    Units get their tracks in the order in which they first appear.
    """
    tracks = {unit: i for i, unit in enumerate(dict.fromkeys(unit for unit, *_ in spans), start=1)}
    names = [_name("process_name", 0, title)]
    names += [_name("thread_name", track, unit) for unit, track in tracks.items()]
    busy = [
        _event("X", name, start, tracks[unit], dur=end - start) for unit, name, start, end in spans
    ]
    steps = [_event("C", name, time, 0, args={"value": value}) for name, time, value in levels]
    return names + sorted(busy + steps, key=lambda event: float(event["ts"]))


def write_trace(
    path: str | Path,
    spans: Sequence[Span],
    levels: Iterable[Level] = (),
    title: str = "kernel",
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write the trace as JSON, ``about`` as its metadata.

    ``OSError`` where ``path`` cannot be written.
    """
    events = trace_events(spans, levels, title)
    trace = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": dict(about or {})}
    Path(path).write_text(json.dumps(trace, separators=(",", ":")) + "\n", encoding="utf-8")


def _event(phase: str, name: str, ts: float, track: int, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": _PROCESS, "tid": track, **more}


def _name(kind: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": track, "args": {"name": name}}
