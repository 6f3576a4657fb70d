"""``prunelab gate`` and ``compare``: what counts as drift, as worse, and as a mistake."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from traces import End, Header, LogWriter, Measurement, Trial
from tuner.bench.compare import regressed
from tuner.bench.drift import gate
from tuner.bench.measures import judged
from tuner.bench.saved import read_results
from tuner.cli.app import run

MEASURES = {
    "best_us": 12.5, "run_regret": 0.02, "space_regret": 0.0, "false_prune_rate": 0.0,
    "pruning_rate": 0.4, "convergence_speedup_time": 2.0, "convergence_speedup_trials": 2.5,
}  # fmt: skip
HEADER = {"schema": 1, "prunelab": "0.1.0", "tvm": "0.27", "plan_hash": "p", "trials": 40}


def cell(arm: str = "two-stage", **changes: float | None) -> dict[str, Any]:
    measures = {k: {"median": v, "low": v, "high": v} for k, v in {**MEASURES, **changes}.items()}
    names = {"chip": "c", "workload": "w", "strategy": "s", "arm": arm, "space_size": 100}
    rules = [{"stage": "trial", "rule": "capacity{scope=l1}", "pruned": 7}]
    return {**names, **measures, "rules": rules, "notes": []}


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """``save(name, cells, header)`` writes a results.json."""

    def write(name: str, cells: list[Any], **header: Any) -> Path:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"header": {**HEADER, **header}, "cells": cells}))
        return path

    return write


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([str(a) for a in arguments])
    return code, *capsys.readouterr()


def test_equal_results_pass(save: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    base, new = save("a", [cell(), cell("none")]), save("b", [cell("none"), cell()])
    assert said(capsys, "gate", base, new) == (0, "passed: 2 cells, nothing drifted\n", "")


@pytest.mark.parametrize(
    ("changes", "change"),
    [
        ({"run_regret": 0.0200001}, "worse"),
        ({"run_regret": 0.01}, "better"),
        ({"pruning_rate": 0.39}, "worse"),
        ({"convergence_speedup_time": 2.1}, "better"),
        ({"best_us": None}, "worse"),
    ],
)
def test_any_drift_fails_and_is_named(
    save: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, float],
    change: str,
) -> None:
    base, new = save("a", [cell()]), save("b", [cell(**changes)])
    code, out, _ = said(capsys, "gate", base, new, "--format", "json")
    found = json.loads(out)
    (name,) = changes
    assert code == 1
    assert not found["passed"]
    assert {d["what"] for d in found["drifts"]} == {
        f"{name}.{x}" for x in ("median", "low", "high")
    }
    assert {d["change"] for d in found["drifts"]} == {change}
    code, out, _ = said(capsys, "gate", base, new)
    assert code == 1
    assert f"{name}.median" in out
    assert out.splitlines()[-1].startswith("failed: 3 values drifted")


def test_a_tolerance_lets_small_drift_pass(save: Callable[..., Path]) -> None:
    base = read_results(save("a", [cell()]))
    new = read_results(save("b", [cell(best_us=12.6, run_regret=0.029)]))
    assert gate(base, new, tolerance=0.01).passed
    assert not gate(base, new, tolerance=0.008).passed


def test_what_a_rule_pruned_is_gated(save: Callable[..., Path]) -> None:
    other = cell()
    other["rules"] = [{"stage": "trial", "rule": "capacity{scope=l1}", "pruned": 8}]
    found = gate(read_results(save("a", [cell()])), read_results(save("b", [other])))
    assert [(d.what, d.base, d.new, d.change) for d in found.drifts] == [
        ("rules.trial.capacity{scope=l1}", 7, 8, "changed")
    ]


def test_missing_and_extra_cells_and_values_fail(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = cell()
    del shorter["space_regret"]
    base, new = save("a", [cell(), cell("task")]), save("b", [shorter, cell("trial")])
    code, out, _ = said(capsys, "gate", base, new)
    assert code == 1
    assert "missing cell: c  w  s  task" in out
    assert "extra cell: c  w  s  trial" in out
    assert "space_regret.median" in out
    assert "missing" in out


def test_other_arguments_fail_and_other_versions_are_named(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base = save("a", [cell()])
    code, out, _ = said(capsys, "gate", base, save("b", [cell()], prunelab="0.2.0", plan_hash="q"))
    assert code == 0
    assert "other version: prunelab is '0.2.0', base has '0.1.0'" in out
    code, out, _ = said(capsys, "gate", base, save("b", [cell()], trials=41))
    assert code == 1
    assert "other argument: trials is 41, base has 40" in out


def test_notes_are_told_and_do_not_fail(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    noted = cell() | {"notes": ["gone \x1b[31m"]}
    code, out, _ = said(capsys, "gate", save("a", [noted]), save("b", [cell()]))
    assert code == 0
    assert r"note - c  w  s  two-stage: gone \x1b[31m" in out


BAD = [
    ("{", "no results.json"),
    ("[]", "Expected `object`"),
    ('{"header": {"schema": 1}}', "missing required field `cells`"),
    ('{"header": {"schema": 9}, "cells": []}', "schema 9, this version reads 1"),
    ('{"header": {"schema": 1}, "cells": [3]}', "got `int` - at `$.cells[0]`"),
    ('{"header": {"schema": 1}, "cells": [{"chip": 3}]}', "$.cells[0]: Expected `str`"),
    (
        '{"header": {"schema": 1}, "cells": [{"chip": "c"}]}',
        "$.cells[0]: Object missing",
    ),
]


@pytest.mark.parametrize(("text", "part"), BAD)
@pytest.mark.parametrize("command", ["gate", "compare"])
def test_what_is_no_results_file_is_one_line(
    save: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    text: str,
    part: str,
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    code, out, err = said(capsys, command, save("a", [cell()]), bad)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {bad}")
    assert part in err
    assert err.count("\n") == 1


def test_a_cell_twice_and_a_missing_file(
    save: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, "gate", save("a", [cell()]), save("b", [cell(), cell()]))
    assert code == 2
    assert "$.cells[1] repeats c w s two-stage" in err
    code, _, err = said(capsys, "gate", save("a", [cell()]), tmp_path / "no.json")
    assert code == 2
    assert "no.json: cannot be read (No such file" in err


# --- compare


def test_compare_fails_only_where_b_is_worse_beyond_the_bound(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = save("a", [cell()]), save("b", [cell(best_us=12.7, run_regret=0.037)])
    code, out, _ = said(capsys, "compare", a, b)
    assert code == 1
    assert "B is worse in 2 measures (bound 0.01)" in out
    assert said(capsys, "compare", b, a)[0] == 0
    assert said(capsys, "compare", a, b, "--bound", "0.02")[0] == 0
    code, out, _ = said(capsys, "compare", a, b, "--format", "json")
    found = json.loads(out)
    assert found["regressed"]
    worse = [r["what"] for r in found["sections"][0]["rows"] if r["regression"]]
    assert worse == ["best_us", "run_regret"]


def test_compare_shows_rules_and_what_only_one_side_has(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy.deepcopy(cell())
    other["rules"][0]["pruned"] = 9
    a, b = save("a", [cell(), cell("task")]), save("b", [other], rules="as-described")
    code, out, _ = said(capsys, "compare", a, b)
    assert code == 0
    assert "pruned by trial capacity{scope=l1}" in out
    assert "+2" in out
    assert "only in A, not compared: c  w  s  task" in out
    assert "no regression in what was compared, 1 of 2 cells (bound 0.01)" in out
    assert "rules: A None, B 'as-described'" in out


def test_compare_of_nothing_in_common(
    save: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, "compare", save("a", [cell()]), save("b", [cell("none")]))
    assert code == 2
    assert "no chip, workload, strategy and arm in common" in err


@pytest.mark.parametrize(
    ("measure", "a", "b", "worse"),
    [
        ("best_us", 100.0, 101.0, False),
        ("best_us", 100.0, 101.1, True),
        ("best_us", 100.0, None, True),
        ("space_regret", 0.0, 0.011, True),
        ("convergence_speedup_time", 2.0, 1.97, True),
        ("convergence_speedup_time", 2.0, 1.99, False),
        ("convergence_speedup_time", None, 1.0, False),
        ("measured_to_best", 100.0, 102.0, True),
        ("measured_to_best", 102.0, 100.0, False),
        ("pruning_rate", 0.9, 0.1, False),
    ],
)
def test_what_a_regression_is(measure: str, a: float | None, b: float | None, worse: bool) -> None:
    assert regressed(measure, a, b, 0.01) is worse


def test_what_a_change_means() -> None:
    assert judged("virtual_s", 1.0, 2.0) == "changed"
    assert judged("virtual_s", 1.0, None) == "changed"
    assert judged("worthless_recall", None, 0.5) == "better"


RUN = Header(
    version="0", run="r", chip="c", chip_hash="h", workload="w", workload_hash="wh", arm="a",
    rule_set="default", rules_hash="rh", strategy="random", backend="sim", seed=0, trials=3,
    repeats=1, batch=1,
)  # fmt: skip


def log(path: Path, latencies_us: list[float], **header: Any) -> Path:
    import msgspec

    with LogWriter(path, msgspec.structs.replace(RUN, **header)) as out:
        for i, us in enumerate(latencies_us):
            out.write(
                Trial(index=i, round=i, candidate=f"c{i}", sketch=0, decisions=[i],
                      measurement=Measurement(latencies_us=[us]), virtual_s=float(i + 1))
            )  # fmt: skip
        n = len(latencies_us)
        out.write(
            End(measured=n, pruned=0, failed=0, best_us=min(latencies_us), best_candidate="c0",
                virtual_s=float(n), reason="budget")
        )  # fmt: skip
    return path


def test_two_runs_by_their_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast = log(tmp_path / "fast/runs/x.jsonl", [9.0, 5.0, 5.1])
    late = log(tmp_path / "late.jsonl", [9.0, 8.0, 5.04], seed=1)
    code, out, _ = said(capsys, "compare", tmp_path / "fast", late, "--format", "json")
    found = json.loads(out)
    rows = {r["what"]: (r["a"], r["b"], r["regression"]) for r in found["sections"][0]["rows"]}
    assert code == 1
    assert rows["best_us"] == (5.0, 5.04, False)
    assert rows["measured_to_best"] == (2.0, 3.0, True)
    assert rows["virtual_s_to_best"] == (2.0, 3.0, True)
    assert [d["name"] for d in found["differences"]] == ["seed"]
    assert said(capsys, "compare", late, fast)[0] == 0


def test_runs_that_cannot_be_compared(
    save: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, other = log(tmp_path / "a.jsonl", [1.0]), log(tmp_path / "b.jsonl", [1.0], chip="d")
    for arguments, part in (
        ((ours, other), "runs of chip c and d"),
        ((ours, save("r", [cell()])), "expected two runs or two benchmarks"),
        ((ours, tmp_path / "no.jsonl"), "no.jsonl: cannot be read"),
        ((ours, tmp_path), "there are 0"),
    ):
        code, out, err = said(capsys, "compare", *arguments)
        assert (code, out) == (2, "")
        assert part in err
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(ours.read_bytes().splitlines(keepends=True)[:-1]))
    assert "not finished" in said(capsys, "compare", ours, torn)[2]
