"""``prunelab fidelity`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.cli.app import run

LADDER = (
    "chip,clock_mhz,technique,M,K_reduction,N_out,dtype,m_per_loop,loops,blocks,launch_type,"
    "buffers,mlu_ms\n"
    "MLU370-X4,1000,bang_matmul,524288,256,128,fp32,128,32,128,Block,1,3.7\n"
    "MLU370-X4,1000,scalar,128,256,128,fp32,,,,Block,1,3000\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("validation", "calibration"):
        path = tmp_path / "mlu" / part / "bang_ladder.csv"
        path.parent.mkdir(parents=True)
        path.write_text(LADDER)
    return tmp_path


def test_json_keeps_calibration_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fidelity", "--data", str(folder), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"datasets", "calibration"}
    entry = found["datasets"][0]
    assert (entry["dataset"], entry["chip"], entry["measure"]) == (
        "bang_ladder", "mlu370-x4", "latency",
    )  # fmt: skip
    assert entry["n"] == 1
    assert entry["mape"] is not None
    assert entry["spearman"] is None
    assert entry["skipped"] == 1


def test_the_table_marks_calibration_and_gives_reasons(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUNELAB_MEASURED", str(folder))
    assert run(["fidelity"]) == 0
    text = capsys.readouterr().out
    validation, calibration = text.index("validation:"), text.index("calibration:")
    assert validation < calibration
    assert "skipped: bang_ladder on mlu370-x4: 1 x scalar code" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "give their folder"), (["--data", "/nowhere/at/all"], "no such folder")],
)
def test_no_data_is_one_line_and_code_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PRUNELAB_MEASURED", raising=False)
    assert run(["fidelity", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
