"""Measurements of an unfinished round outlive their process, and are never another run's."""

from __future__ import annotations

from pathlib import Path

import msgspec

from traces import Header, Measurement
from tuner.hardware.kept import Keeper, beside

HEADER = Header(
    version="0", run="r", chip="local-cpu", chip_hash="c", workload="w", workload_hash="h",
    arm="none", rule_set="default", rules_hash="r", strategy="random", backend="local",
    seed=0, trials=8, repeats=3, batch=4,
)  # fmt: skip
ONE = Measurement(latencies_us=[1.5, 2.0], compile_s=0.5, run_s=0.25)


def test_what_was_kept_is_known_to_the_next_attempt(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    Keeper(log, HEADER).keep("aa", ONE)
    again = Keeper(log, HEADER)
    assert again.known == {"aa": ONE}
    again.keep("bb", ONE)
    assert set(Keeper(log, HEADER).known) == {"aa", "bb"}


def test_a_torn_line_costs_one_measurement_and_no_more(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    keeper = Keeper(log, HEADER)
    keeper.keep("aa", ONE)
    keeper.keep("bb", ONE)
    raw = beside(log).read_bytes()
    beside(log).write_bytes(raw[:-9])
    again = Keeper(log, HEADER)
    assert set(again.known) == {"aa"}
    again.keep("cc", ONE)
    assert set(Keeper(log, HEADER).known) == {"aa", "cc"}


def test_another_runs_measurements_are_not_taken_up(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    Keeper(log, HEADER).keep("aa", ONE)
    assert Keeper(log, msgspec.structs.replace(HEADER, chip_hash="d")).known == {}
