"""``prunelab rules``: printed as they parse back; a file with a mistake is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .said import BENCH, TUNE, Cli, log_of, refused

RULE = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Mine:
    name: ClassVar[str] = "mine"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        raise ValueError("not <b>today</b>")
"""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("x = 1", "no rule found; expected a frozen dataclass"),
        (RULE.replace('"mine"', '"roofline-bound"'), "'roofline-bound' is defined twice"),
        (RULE.replace("    backends", "    chips"), "rule 'mine' has no 'backends'"),
        (RULE.replace("    hard: ClassVar[bool] = False\n", ""), "rule 'mine' has no 'hard'"),
        (RULE.replace('"trial"', '"task"'), "rule 'mine' has no 'joint'"),
    ],
)
def test_a_rules_file_with_a_mistake_in_it(cli: Cli, tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    refused(cli(*BENCH, "--rule-file", path, "--out", tmp_path / "out"), str(path), part)
    refused(cli("rules", "--rule-file", path), str(path), part)
    assert not (tmp_path / "out").exists()


def test_rules_are_printed_as_they_parse_back(cli: Cli) -> None:
    from pruner.registry import load_rules
    from pruner.spec import print_rule

    found = json.loads(cli("rules", "default", "--format", "json").out)
    assert found["rule_set"].startswith("default@")
    for row in found["rules"]:
        assert print_rule(load_rules().parse(row["rule"])) == row["rule"]
        assert row["doc"]


def test_control_characters_of_others_do_not_reach_the_terminal(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULE.replace("<b>today</b>", "\\x1b[31m\\ntoday"))
    said = cli(
        *TUNE, "--chip", "mlu370-s4", "--arm", "trial", "--rule-file", path,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert said.code == 0
    text = cli("explain", log_of(tmp_path / "out"), "0").out
    assert "left out, ValueError: not" in text
    path.write_text("raise ValueError('\x1b[31m red')")
    said = cli("rules", "--rule-file", path)
    refused(said, r"ValueError: \x1b[31m red")
    assert "\x1b" not in text + said.err


def test_a_rules_file_that_has_gone_since_the_run_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("mine.py")
    path.write_text(RULE.replace('raise ValueError("not <b>today</b>")', "return None"))
    for given, out in ((path, "out"), (path.resolve(), "other")):
        tuned = (*TUNE, "--chip", "mlu370-s4", "--arm", "trial", "--rule-file", given)
        assert cli(*tuned, "--out", out).code == 0
    path.rename("moved.py")
    for out, start in (("out", ", and start where the run was started"), ("other", "")):
        log = log_of(tmp_path / out)
        for command in (("explain", log, "0"), ("replay", log, "--verify")):
            said = cli(*command)
            refused(said, str(log), "mine.py is missing: put it back where it was" + start + "\n")
