"""A chip file that is wrong in one number: every number in turn, and the brittle rule is named."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hwsim
from hwsim.chips import chip_names, load_chip
from pruner.rulesets import rule_set
from traces import LogWriter, Note, Trial, read
from tuner.bench.wrong_chip import NearOptimum, wrong_chips
from tuner.cli.app import run
from tuner.explained import explain
from tuner.oracle import catalogue, load
from tuner.runs import RunSpec, checked_rules, header, search

MLU: Any = load_chip("mlu370-s4")


def test_every_number_is_wrong_once_up_and_once_down() -> None:
    found: dict[str, Any] = dict(wrong_chips(MLU, 0.2))
    up, down = found["nram_kib x 1.2"], found["nram_kib x 0.8"]
    assert (up.nram_kib, down.nram_kib) == (round(MLU.nram_kib * 1.2), round(MLU.nram_kib * 0.8))
    assert msgspec.structs.replace(up, nram_kib=MLU.nram_kib) == MLU
    assert "macs_per_cycle.float16 x 1.2" in found
    assert not any(number.startswith(("bench", "noise", "rules")) for number in found)


ENDS_AT_ONE = re.compile(r"(\w+_efficiency|sustained_share) x 1.2|rearrange_slowdown x 0.8")


@pytest.mark.parametrize("name", chip_names())
def test_a_fifth_off_is_within_what_a_chip_file_may_say(name: str) -> None:
    refused = [number for number, chip in wrong_chips(load_chip(name), 0.2) if chip is None]
    assert [number for number in refused if not ENDS_AT_ONE.fullmatch(number)] == []


@pytest.fixture(scope="module")
def oracle() -> Any:
    return load(catalogue()["mlu-conv"])


def test_the_right_chip_loses_nothing(oracle: Any) -> None:
    kept = NearOptimum(oracle, rule_set("default")).judged_by(oracle.problem.chip)
    assert kept.regret == 0
    assert not kept.removed


def test_a_chip_that_is_far_too_slow_makes_the_bound_lose_the_optimum(oracle: Any) -> None:
    slow = msgspec.structs.replace(oracle.problem.chip, ddr_gbps=oracle.problem.chip.ddr_gbps / 20)
    kept = NearOptimum(oracle, rule_set("default")).judged_by(slow)
    assert kept.regret == float("inf")
    assert list(kept.removed) == ["roofline-bound{slack=1.25}"]


def test_robust_makes_whole_runs_and_says_where_one_ends_far_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_wrong(chip: Any, share: float) -> Any:
        yield "launch_us x 1.2", msgspec.structs.replace(chip, launch_us=chip.launch_us * 1.2)
        yield "nram_kib / 8", msgspec.structs.replace(chip, nram_kib=chip.nram_kib // 8)

    monkeypatch.setattr("tuner.bench.wrong_chip.wrong_chips", two_wrong)
    asked = ["robust", "--space", "mlu-conv", "--trials", "48", "--format", "json"]
    assert run(asked) == 1
    fine, far = json.loads(capsys.readouterr().out)["numbers"]
    assert fine["run_regret"] <= 0.02
    assert far["regret"] is None
    assert far["run_regret"] > 0.02


NRAM = "capacity{scope=nram}"


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chip file with 20 % less NRAM than there is."""
    shipped = Path(hwsim.__file__).parent / "mlu_sram" / "chips" / "mlu370-s4.toml"
    path = tmp_path_factory.mktemp("low") / "low.toml"
    path.write_text(
        shipped.read_text().replace("nram_kib = { value = 768", "nram_kib = { value = 614")
    )
    return path


def tuned(log: Path, believed: Path) -> list[Any]:
    """A run on mlu-bmm, whose best candidates fill the NRAM, that believes in another chip."""
    oracle, spec = (
        load(catalogue()["mlu-bmm"]),
        RunSpec("two-stage", "evolutionary", 0, 64, batch=16),
    )
    problem, rules = replace(oracle.problem, chip=load_chip(believed)), checked_rules(spec)
    with LogWriter(log, header(problem, spec, rules)) as writer:
        search(problem, spec, rules, writer, board=oracle.problem.chip).run()
    return list(read(log))


def test_a_limit_that_is_too_low_is_found_out_and_what_it_barred_comes_back(
    low: Path, tmp_path: Path
) -> None:
    log = tmp_path / "run.jsonl"
    records = tuned(log, low)
    raised = [r.text for r in records if isinstance(r, Note) and r.text.startswith(NRAM)]
    said = "the limit was 595968 B, and a kernel that needs 688128 B ran: that is the limit now"
    assert raised == [f"{NRAM}: {said}"]
    trials = [r for r in records if isinstance(r, Trial)]
    note = next(i for i, r in enumerate(records) if getattr(r, "text", "") == raised[0])
    last = records[note - 1]
    assert isinstance(last, Trial)  # the note stands behind the round that found it out
    assert last.round == records[note].round
    barred = {t.candidate for t in trials if t.verdict["rule"] == NRAM and not t.verdict["keep"]}
    back = [t for t in trials if t.candidate in barred and t.measurement is not None]
    assert back
    again = explain(log, back[0].candidate, str(low)).explanation
    fits = next(v for v in again.chain if v.rule == NRAM)
    assert (again.verdict.keep, fits.keep, fits.evidence[0].have) == (True, True, 688128)
    probe = next(t for t in trials if t.verdict["rule"] == NRAM and t.verdict["keep"])
    assert again.notes == [f"{NRAM}: {said} (by trial {probe.index})"]
    before = explain(log, str(probe.index), str(low)).explanation
    assert before.notes == []
    verdict = before.verdict
    assert (verdict.probe, verdict.reason) == (True, "needs 688128 B of nram, there are 595968 B")
    best = min(t.measurement.mean_us for t in trials if t.measurement is not None)
    assert best <= load(catalogue()["mlu-bmm"]).optimum_us * 1.02
    tuned(tmp_path / "again.jsonl", low)
    assert (tmp_path / "again.jsonl").read_bytes() == log.read_bytes()
