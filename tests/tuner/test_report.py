"""``prunelab report``: one harmless file from a folder of tune or of logs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from traces import Measurement, Trial
from tuner.cli.app import run
from tuner.report.movement import _plane, _promises, projection, state_of, waterfall

SCRIPT = "<script>alert(1)</script>"


def trial(index: int, us: float | None, verdict: object = None, round: int = 0) -> Trial:
    measured = None
    if us is not None:
        failed = not np.isfinite(us)
        measured = Measurement(
            latencies_us=[] if failed else [us], failure="compile_error" if failed else None
        )
    return Trial(
        index=index, round=round, candidate=f"c{index}", sketch=index % 2,
        decisions=[2**index, 1, 3][: 2 + index % 2], verdict=verdict, measurement=measured,
    )  # fmt: skip


PRUNED = {"stage": "trial", "rule": f"{SCRIPT}$x$", "keep": False}
REJECTED = {"stage": "verifier", "rule": "VerifyGPUCode", "keep": False}
TRIALS = [
    trial(0, 5.0), trial(1, None, PRUNED), trial(2, float("inf")), trial(3, None, REJECTED),
    trial(4, 4.0, {"stage": "trial", "rule": "none", "keep": True, "probability": 0.2}, 1),
    trial(5, 6.0, {"stage": "trial", "rule": "none", "keep": True, "probability": 0.7}, 1),
]  # fmt: skip


def test_states_and_what_took_candidates_away() -> None:
    assert [state_of(t) for t in TRIALS] == [
        "measured", "pruned", "failed", "rejected", "measured", "measured",
    ]  # fmt: skip
    drawn = waterfall(TRIALS)
    assert "<script" not in drawn
    assert "rejected: VerifyGPUCode" in drawn
    assert "failed: compile_error" in drawn


def test_the_gate_is_held_to_the_best_of_the_rounds_before() -> None:
    said, came = _promises(TRIALS)
    assert said.tolist() == [0.2, 0.7]
    assert came.tolist() == [0.0, 1.0]  # 4 us beat 5 us, 6 us did not


def test_the_projection_keeps_what_differs_apart() -> None:
    at = _plane(TRIALS)
    assert at.shape == (6, 2)
    assert len(np.unique(at.round(9), axis=0)) == 6
    assert np.array_equal(_plane(TRIALS), at)
    assert _plane(TRIALS[:1]).tolist() == [[0.0, 0.0]]
    assert projection(TRIALS) == projection(TRIALS)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([str(a) for a in arguments])
    return code, *capsys.readouterr()


def test_a_folder_of_tune_and_its_logs_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    tune = ("tune", "--chip", "mlu370-s4", "--workload", "gemm:64x64x64:float16",
            "--trials", "12", "--batch", "4", "--no-check", "--out", out)  # fmt: skip
    assert said(capsys, *tune)[0] == 0
    table = {"datasets": [{"dataset": SCRIPT, "chip": "a10", "n": 3, "spearman": 0.91234}]}
    (tmp_path / "fidelity.json").write_text(json.dumps(table))
    code, text, _ = said(capsys, "report", out, "--fidelity", tmp_path / "fidelity.json")
    assert (code, text) == (0, f"report: {out / 'report.html'}\n")
    html = (out / "report.html").read_text()
    for part in ("How schedules are generated", "sample_perfect_tile", "How the search moved",
                 "two-stage", "0.912", "&lt;script&gt;"):  # fmt: skip
        assert part in html
    assert "<script" not in html
    assert not re.search(r"https?://(?!www\.w3\.org|purl\.org|creativecommons|matplotlib)", html)
    assert said(capsys, "report", out)[0] == 0
    again = (out / "report.html").read_text()
    assert said(capsys, "report", out)[0] == 0
    assert (out / "report.html").read_text() == again

    (log,) = (out / "runs").iterdir()
    alone = tmp_path / "logs"
    alone.mkdir()
    text = log.read_text().replace('"chip_hash":"', '"chip_hash":"0', 1)
    (alone / "x.jsonl").write_text("".join(text.splitlines(keepends=True)[:-1]))  # interrupted
    code, said_text, _ = said(capsys, "report", alone)
    assert code == 0
    assert "note: how schedules are generated" in said_text
    assert "unknown: interrupted" in (alone / "report.html").read_text()
    shutil.rmtree(alone)


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "report", tmp_path)
    assert (code, out) == (2, "")
    assert "holds no log" in err
    (tmp_path / "x.jsonl").write_text("{}\n")
    code, _, err = said(capsys, "report", tmp_path)
    assert code == 2
    assert "x.jsonl:1: no header" in err
