"""Rules of installed packages: found by entry point, refused in one line."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pruner import registry
from pruner.rule import RuleError
from pruner.rulesets import rule_set


def install(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("mine", value, registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])


def test_an_installed_rule_is_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    install(monkeypatch, "idle_sms")
    assert "idle-sms" not in " ".join(rule_set("default").specs)
    assert rule_set("default+idle-sms").specs[-1].startswith("idle-sms{")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("pruner.rules.capacity", "'capacity' is defined twice: in pruner.rules.capacity and in"),
        ("no.such.module", "entry point mine = no.such.module: ModuleNotFoundError"),
        ("pruner.bounds", "entry point mine = pruner.bounds: no rule found"),
    ],
)
def test_what_is_wrong_with_an_installed_rule_is_said(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    install(monkeypatch, value)
    with pytest.raises(RuleError, match=message):
        rule_set("default")
