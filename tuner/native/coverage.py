"""Which of the shipped rules run in C++."""

from __future__ import annotations

from hwsim.chips import load_chip
from hwsim.columns import columns_of
from pruner.recording import record
from pruner.recording.table import Layout
from pruner.rulesets import RULE_SETS, rule_set
from pruner.spec import print_rule

_CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb", "local-cpu")  # one of each backend


def left_to_numpy() -> dict[str, str]:
    """Printed rule -> why it cannot be recorded; ``features`` where the gate's cannot."""
    known = {print_rule(rule): rule for name in RULE_SETS for rule in rule_set(name).trial}
    left: dict[str, str] = {}
    for name in _CHIPS:
        chip = load_chip(name)
        mine = [rule for rule in known.values() if chip.backend in rule.backends]
        layout = Layout(chip.backend, frozenset(columns_of(chip.backend)), False)
        left.update(record(mine, chip, layout, gate=True).left_out)
    return left
