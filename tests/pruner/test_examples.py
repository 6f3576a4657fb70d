"""The rule that the README shows keeps the contract of rules and prunes what it says."""

from pathlib import Path

import numpy as np

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.rulesets import rule_set
from pruner.testing import conform

EXAMPLE = Path(__file__).parents[2] / "examples" / "idle_sms.py"


def test_the_example_rule_conforms_and_prunes_idle_kernels() -> None:
    rule = rule_set("default", [EXAMPLE]).trial[-1]
    chip = load_chip("a100-sxm-40gb")
    conform(rule, chip)
    finding = rule.check(KernelTable.of("gpu_sm", blocks=[1, 54, 108, 4000]), chip)
    assert finding.keep.tolist() == [False, True, True, True]
    assert np.array_equal(finding.need, [107, 54, 0, 0])
