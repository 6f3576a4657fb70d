"""Trace files: tracks, order, counters."""

from __future__ import annotations

import json
from pathlib import Path

from hwsim.timeline import trace_events, write_trace

SPANS = [("core", "compute", 2.0, 5.0), ("io", "load", 0.0, 2.0), ("core", "compute", 7.0, 8.5)]
LEVELS = [("NRAM copies", 0.0, 1.0), ("NRAM copies", 5.0, 0.0)]


def test_each_unit_has_a_named_track() -> None:
    events = trace_events(SPANS)
    names = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert names == {"core": 1, "io": 2}
    busy = [(e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert busy == [(2, 0.0, 2.0), (1, 2.0, 3.0), (1, 7.0, 1.5)]


def test_the_file_is_json_in_the_trace_event_format(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write_trace(path, SPANS, LEVELS, title="gemm", about={"covers": "all"})
    trace = json.loads(path.read_text())
    assert {"traceEvents", "displayTimeUnit", "otherData"} == set(trace)
    assert trace["otherData"] == {"covers": "all"}
    counters = [(e["ts"], e["args"]["value"]) for e in trace["traceEvents"] if e["ph"] == "C"]
    assert counters == [(0.0, 1.0), (5.0, 0.0)]
    assert all({"ph", "name", "pid", "tid"} <= set(event) for event in trace["traceEvents"])


def test_an_empty_timeline_is_a_valid_trace() -> None:
    assert [event["ph"] for event in trace_events([])] == ["M"]
