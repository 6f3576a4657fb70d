"""``prunelab explain``: the log's verdicts again, with numbers, units and sources."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from .said import GEMM, TUNE, Cli, log_of, refused, trials_of


def test_explain_without_more_is_an_overview(cli: Cli, at_random: Path) -> None:
    said = cli("explain", log_of(at_random))
    assert said.code == 0
    assert f"{GEMM} on a100-sxm-40gb, arm two-stage" in said.out
    rows = json.loads(cli("explain", log_of(at_random), "--format", "json").out)
    assert rows
    assert cli("explain", log_of(at_random), rows[0]["example"]).code == 0
    trials = trials_of(at_random)
    left = [row["left"] for row in rows if row["where"] == "candidates"]
    assert left == sorted(left, reverse=True)
    assert left[-1] == sum(t["measurement"] is not None for t in trials)


def test_explain_agrees_with_the_log_whatever_pruned(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    log = log_of(own_chip[1])
    pruned = [t for t in trials_of(own_chip[1]) if t["measurement"] is None]
    one_of_each = {t["verdict"]["rule"].split("{")[0]: t for t in pruned}
    assert "capacity" in one_of_each
    for rule, trial in one_of_each.items():
        said = json.loads(cli("explain", log, trial["candidate"], "--format", "json").out)
        assert said["subject"] == trial["candidate"]
        assert said["verdict"] == trial["verdict"]
        first = next(v for v in said["chain"] if not v["keep"])
        assert first == trial["verdict"], rule  # the first that objects gets the blame


def test_decisions_are_printed_as_explain_takes_them(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    log = log_of(own_chip[1])
    text = cli("explain", log, "0").out.splitlines()[0]
    sketch = re.search(r"sketch (\d+): ", text)
    decisions = re.findall(r"[\w.#]+=[\dx]+", text)
    assert sketch
    assert len(decisions) > 3
    for decision in (decisions[0], decisions[-1]):
        assert "=> kept" in cli("explain", log, f"{sketch[1]}:{decision}").out


def test_explain_prints_numbers_units_and_sources(cli: Cli, at_random: Path) -> None:
    pruned = next(t for t in trials_of(at_random) if t["measurement"] is None)
    text = cli("explain", log_of(at_random), pruned["index"]).out
    assert re.search(r"PRUNE tvm-verifier", text)
    assert re.search(r"need \d+ B, have \d+ B", text)
    assert "=> pruned by" in text
    kept = next(t for t in trials_of(at_random) if t["measurement"] is not None)
    assert re.search(
        r"measured: [\d.]+ us, bottleneck", cli("explain", log_of(at_random), kept["candidate"]).out
    )


def test_explain_says_that_there_is_nothing_to_compare_with_in_the_first_round(
    cli: Cli, tuned: Path
) -> None:
    trials = trials_of(tuned)
    assert trials[0]["round"] < trials[-1]["round"]
    said = [cli("explain", log_of(tuned), t["index"]).out for t in (trials[0], trials[-1])]
    assert ["have -" in text for text in said] == [True, False]
    assert ["no latency was measured before this round" in text for text in said] == [True, False]


def test_explain_names_what_it_cannot_find(cli: Cli, tuned: Path, folder: Path) -> None:
    log, n = log_of(tuned), len(trials_of(tuned))
    refused(cli("explain", log, "zzz"), "no candidate begins with 'zzz'", f"below {n}")
    refused(cli("explain", log, "²"), "no candidate begins with '²'")
    digit = next(d for d in "abcdef" if sum(t["candidate"][0] == d for t in trials_of(tuned)) > 1)
    refused(cli("explain", log, digit), f"candidates begin with '{digit}'")
    refused(cli("explain", log, n), f"a trial number below {n}")
    refused(cli("explain", tuned, "0"), "cannot be read")
    refused(cli("explain", tuned / "best.py", "0"), "no header of a prunelab log")
    raw = log.read_bytes()
    log_of(folder).write_bytes(raw.replace(b'"chip_hash":"', b'"chip_hash":"00', 1))
    refused(cli("explain", log_of(folder), "0"), "chip a100-sxm-40gb has changed since")
    log_of(folder).write_bytes(raw.replace(b'"rules_hash":"', b'"rules_hash":"00', 1))
    refused(cli("explain", log_of(folder), "0"), "the rules of default@1.1.0 have changed since")
    log_of(folder).write_bytes(raw.replace(b'"workload_hash":"', b'"workload_hash":"0', 1))
    refused(cli("explain", log_of(folder), "0"), f"program of workload {GEMM} has changed since")


def test_a_log_explains_itself_away_from_its_folder(cli: Cli, tuned: Path, tmp_path: Path) -> None:
    shutil.copy(log_of(tuned), tmp_path / "moved.jsonl")
    there, here = (cli("explain", path, "0") for path in (log_of(tuned), tmp_path / "moved.jsonl"))
    assert here.code == 0
    assert here.out == there.out


def test_a_chip_file_that_has_moved_is_given_anew(
    cli: Cli, own_chip: tuple[Path, Path], tmp_path: Path
) -> None:
    chip, out = own_chip
    plan = json.loads((out / "plan.json").read_text())
    copy = Path(shutil.copytree(out, tmp_path / "out"))
    (copy / "plan.json").write_text(json.dumps({**plan, "chips": ["gone.toml"]}))
    refused(cli("explain", log_of(copy), "0"), "is of chip my-910b1", "--chip")
    refused(cli("explain", log_of(copy), "0", "--chip", "mlu370-s4"), "is of chip my-910b1")
    assert cli("explain", log_of(copy), "0", "--chip", chip).code == 0


def test_explain_of_values_that_the_task_stage_removed(
    cli: Cli, own_chip: tuple[Path, Path]
) -> None:
    _, out = own_chip
    log = log_of(out)
    rows = json.loads(cli("explain", log, "--format", "json").out)
    row = next(r for r in rows if r["stage"] == "task")
    where, value = row["example"].split("=")
    assert where == row["where"]
    listed = json.loads(cli("explain", log, where, "--format", "json").out)
    assert {"value": value, "rule": row["rule"]} in listed
    assert len(listed) == sum(r["pruned"] for r in rows if r["where"] == where)
    chain = json.loads(cli("explain", log, row["example"], "--format", "json").out)
    assert chain["verdict"]["rule"] == row["rule"]
    assert chain["verdict"]["stage"] == "task"
    assert not chain["verdict"]["keep"]
    text = cli("explain", log, row["example"]).out
    assert re.search(r"need \d+ B, have \d+ B", text)
    assert re.search(r"basis: my-910b1 \w+ = \d+ \(\w: ", text)
    assert f"=> pruned by {row['rule']}" in text


def test_explain_names_the_values_it_cannot_find(
    cli: Cli, tuned: Path, own_chip: tuple[Path, Path]
) -> None:
    log = log_of(own_chip[1])
    refused(cli("explain", log, "0:nope=1"), "no such decision 'nope'", "expected one of")
    refused(cli("explain", log, "99:nope=1"), "no sketch 99")
    decision = ("sketch 0 has no such decision 'nope'", "expected one of ax0_0.tile, ", " more")
    refused(cli("explain", log, "0:nope"), *decision)
    rows = json.loads(cli("explain", log, "--format", "json").out)
    whole = named_in(cli("explain", log, "0").out) - {r["where"] for r in rows}
    refused(cli("explain", log, min(whole)), f"removed nothing of {min(whole)}")
    where = next(r["where"] for r in rows if r["stage"] == "task")
    refused(cli("explain", log, f"{where}=3x5x7"), "no value '3x5x7'", "expected one of", "more")


def named_in(text: str) -> set[str]:
    """The decisions of an explained candidate, as ``explain`` takes them."""
    sketch = re.search(r"sketch (\d+): ", text)
    assert sketch
    return {f"{sketch[1]}:{name}" for name in re.findall(r"([\w.#]+)=[\dx]+", text.splitlines()[0])}


def test_explain_of_a_value_wants_a_task_stage(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli(*TUNE, "--chip", "mlu370-s4", "--arm", "none", "--out", out).code == 0
    for value in ("0:i.tile", "0:i.tile=1"):
        refused(cli("explain", log_of(out), value), "arm none has no task stage")
    assert "nothing was pruned" in cli("explain", log_of(out)).out
