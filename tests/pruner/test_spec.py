"""Rules print and parse both ways; registries name both owners of a duplicate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruner.registry import builtin, load_rules
from pruner.rule import RuleError
from pruner.rules.reduce_thread_split import ReduceThreadSplit
from pruner.rules.roofline_bound import RooflineBound
from pruner.rulesets import rule_set
from pruner.spec import parse_rule, print_rule


@dataclass(frozen=True)
class _All:
    name: ClassVar[str] = "all-kinds"
    stage: ClassVar[str] = "trial"

    count: int = 0
    share: float = 0.5
    on: bool = False
    label: str = "x"
    mode: Literal["fast", "slow"] = "fast"
    lanes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        _All,
        count=st.integers(),
        share=finite,
        on=st.booleans(),
        label=st.text(),
        mode=st.sampled_from(["fast", "slow"]),
        lanes=st.lists(st.integers()).map(tuple),
        names=st.lists(st.text(alphabet=st.characters(exclude_characters="[]"))).map(tuple),
    )
)
def test_round_trip(rule: _All) -> None:
    assert parse_rule(print_rule(rule), {"all-kinds": _All}) == rule


def test_printed_as_in_the_logs() -> None:
    assert print_rule(ReduceThreadSplit(32)) == "reduce-thread-split{max_length=32}"
    assert builtin().parse("reduce-thread-split{ max_length = 32 }") == ReduceThreadSplit(32)


def test_state_of_a_run_is_not_a_parameter() -> None:
    assert print_rule(RooflineBound(1.5, best_us=12.0)) == "roofline-bound{slack=1.5}"
    with pytest.raises(RuleError, match="unknown parameter 'best_us'"):
        builtin().parse("roofline-bound{best_us=3}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense{", "expected name{field=value,...}"),
        ("Capacity", "expected name{field=value,...}"),
        ("no-such-rule", "unknown; known: "),
        ("capacity{scope}", "expected field=value at 'scope'"),
        ("capacity{scope=l1,scope=ub}", "given twice"),
        ("capacity{scope=l3}", "parameter 'scope': Invalid enum value 'l3'"),
        ("capacity", "missing 1 required positional argument: 'scope'"),
        ("mean-cost{alpha=fast}", "parameter 'alpha': Expected `float`, got `str`"),
        ("mean-cost{gamma=1}", "unknown parameter 'gamma', expected alpha, beta, budget"),
        ("int-overflow{k=1}", "unknown parameter 'k', expected no parameter"),
        ("mean-cost{alpha=1e}", "is no number, word, string or list"),
    ],
)
def test_mistakes_are_one_line(text: str, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        builtin().parse(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


RULE = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from pruner.rule import Finding

@dataclass(frozen=True)
class Mine:
    """Never more than a number of blocks."""
    name: ClassVar[str] = "{name}"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple] = ("gpu_sm",)
    hard: ClassVar[bool] = False
    most: int = 8

    def check(self, table, chip):
        need = table["blocks"].astype(float)
        have = np.full(table.n, float(self.most))
        return Finding(need <= have, "blocks", need, have, "blocks", "{{need}} blocks")
'''


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_users_rules_join_a_rule_set(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", RULE.format(name="few-blocks"))
    rules = rule_set("default", [path])
    assert rules.specs[-1] == "few-blocks{most=8}"
    assert rules.name.endswith("+1")
    assert load_rules([path]).owners["few-blocks"] == str(path)


def test_a_taken_name_names_both_owners(tmp_path: Path) -> None:
    first = write(tmp_path / "a.py", RULE.format(name="few-blocks"))
    second = write(tmp_path / "b.py", RULE.format(name="few-blocks"))
    with pytest.raises(
        RuleError, match=f"'few-blocks' is defined twice: in {first} and in {second}"
    ):
        load_rules([first, second])
    shipped = write(tmp_path / "c.py", RULE.format(name="capacity"))
    with pytest.raises(RuleError, match=f"in pruner.rules.capacity and in {shipped}"):
        load_rules([shipped])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "no rule found"),
        ("x = 1 / 0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit"),
    ],
)
def test_files_that_are_no_rules(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(RuleError, match=words) as caught:
        rule_set("default", [write(tmp_path / "bad.py", text)])
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such rules file"):
        load_rules([tmp_path / "none.py"])
    with pytest.raises(RuleError, match=r"expected a .py file"):
        load_rules([write(tmp_path / "rules.txt", "x")])


def test_shipped_rules_join_a_rule_set() -> None:
    rules = rule_set("default+core-starvation{min_share=1e+0}+bank-conflict")
    assert rules.specs[-2:] == ("core-starvation{min_share=1.0}", "bank-conflict{max_ways=16.0}")
    assert rules.name == "default+core-starvation{min_share=1e+0}+bank-conflict@1.1.0"
    assert rule_set(rules.name.split("@")[0]) == rules
    with pytest.raises(RuleError, match="rule 'nonsense': unknown"):
        rule_set("default+nonsense")


def test_only_the_literal_set_has_the_literal_gate() -> None:
    assert rule_set("as-described").gate.caution == 0
    assert rule_set("default").gate.caution == 0.99
    assert rule_set("as-described").gate.threshold == rule_set("default").gate.threshold == 0.85


def test_unknown_rule_set() -> None:
    with pytest.raises(RuleError, match="unknown; known: default, as-described, heuristic"):
        rule_set("defualt")
