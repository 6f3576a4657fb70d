"""Rules in a process of their own: whatever they do is one line, and the next rule is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.chips import load_chip
from pruner.host import HostError, RuleHost
from pruner.rule import RuleError
from pruner.testing import random_table

VANDALS = str(Path(__file__).with_name("vandals.py"))
CHIP = load_chip("mlu370-s4")


def test_what_rules_do_is_named_and_the_next_one_is_asked() -> None:
    import numpy as np

    table = random_table("mlu_sram", 8, np.random.default_rng(0))
    with RuleHost([VANDALS], limit_s=3) as host:
        specs = [rule.spec for rule in host.describe([])]
        assert specs == [
            "all", "careless", "liar", "loops", "exits", "raises", "misshapen", "impure", "vain",
        ]  # fmt: skip
        said = {}
        for spec in specs[3:]:
            with pytest.raises(HostError) as caught:
                host.conform(spec, CHIP)
            said[spec] = str(caught.value)
        assert said == {
            "loops": "gave no answer within 3 s (conformance on random tables)",
            "exits": "ended its process (conformance on random tables)",
            "raises": "raises: ValueError: no way",
            "misshapen": "misshapen: RuleError: keep is bool (3,), expected bool (0,)",
            "impure": "impure: answers differently the second time (keep)",
            "vain": "reason is empty",
        }
        for spec, line in (("impure", "answers differently"), ("raises", "ValueError: no way")):
            with pytest.raises(HostError, match=line):
                host.check(spec, table, CHIP, 1.0)
        host.conform("all", CHIP)
        assert not host.check("all", table, CHIP, 1.0).keep.any()


def test_a_rule_that_follows_the_best_is_told_it() -> None:
    import numpy as np

    table = random_table("mlu_sram", 50, np.random.default_rng(0))
    with RuleHost(limit_s=20) as host:
        (rule,) = host.describe(["roofline-bound"])
        assert rule.spec == "roofline-bound{slack=1.25}"
        assert host.check(rule.spec, table, CHIP, float("inf")).keep.all()
        assert not host.check(rule.spec, table, CHIP, 1e-9).keep.any()
        verdict, _ = host.verdicts(rule.spec, table, CHIP, 1e-9, [0, 7])
        assert not verdict.keep
        assert verdict.rule == rule.spec
        assert host.seconds_single(rule.spec, table, CHIP, 1e-9) > 0


@pytest.mark.parametrize(
    ("text", "specs", "line"),
    [
        ("while True: pass", [], "gave no answer within 3 s (loading the rule)"),
        ("import os; os._exit(3)", [], "ended its process (loading the rule)"),
        ("x = 1", [], "no rule found"),
        ("1 / 0", [], "ZeroDivisionError"),
    ],
)
def test_a_file_that_does_not_load(tmp_path: Path, text: str, specs: list[str], line: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with RuleHost([str(path)], limit_s=3) as host, pytest.raises(RuleError) as caught:
        host.describe(specs)
    assert line in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_spec_that_is_none() -> None:
    with RuleHost() as host:
        for spec, line in (
            ("nope", "unknown; known: "),
            ("value-threads", "bound"),
            ("{", "expected name{"),
        ):
            with pytest.raises(RuleError, match=line):
                host.describe([spec])
