"""Hard limits that a chip file may put too low: tested, raised where they do not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.limits import FAILURES
from pruner.registry import builtin
from pruner.trial import TrialStage

ASCEND: Any = load_chip("ascend-910b1")
SPECS = ("capacity{scope=l0a}", "capacity{scope=l0b}")
L0 = 64 * 1024.0
SLOW = 1e10  # macs


def kernels(l0a: Any, l0b: Any = 1.0, macs: Any = 1e8) -> KernelTable:
    """One kernel for each ``l0a`` in B; the more ``macs``, the longer the draft."""
    return KernelTable.of("ascend_cube", l0a_bytes=l0a, l0b_bytes=l0b, blocks=24, macs=macs)


def names(table: KernelTable) -> list[str]:
    return [f"c{i}" for i in range(table.n_candidates)]


def begun(**options: Any) -> TrialStage:
    """A stage whose run has measured one kernel."""
    stage = TrialStage([builtin().parse(s) for s in SPECS], None, ASCEND, **options)
    stage.observe(kernels([1.0], macs=1e9), ["seen"], [100.0])
    return stage


def probes(stage: TrialStage, table: KernelTable, **options: Any) -> list[int]:
    return np.flatnonzero(stage.judge(table, names(table), **options).tests).tolist()


NEAR = kernels([1.25 * L0, 1.0])


def test_a_limit_is_tested_once_there_is_something_to_beat() -> None:
    assert probes(begun(), NEAR) == [0]
    fresh = TrialStage([builtin().parse(s) for s in SPECS], None, ASCEND)
    assert probes(fresh, NEAR) == []


def test_no_test_without_probes_and_none_outside_a_run() -> None:
    assert probes(begun(epsilon=0.0), NEAR) == []
    assert probes(begun(), NEAR, rescue=False) == []


def test_the_most_promising_of_those_just_beyond_one_limit_tests_it() -> None:
    table = kernels(
        l0a=[1.0, 1.1 * L0, 1.2 * L0, 2.0 * L0, 1.1 * L0],
        l0b=[1.0, 1.0, 1.0, 1.0, 1.1 * L0],
        macs=[1e8, 4e8, 2e8, 1e8, 1e8],
    )
    assert probes(begun(), table) == [2]


def test_each_limit_is_tested_by_one_candidate_at_a_time() -> None:
    stage, table = begun(), kernels([1.1 * L0, 1.0, 1.1 * L0], [1.0, 1.1 * L0, 1.0])
    assert probes(stage, table) == [0, 1]
    assert probes(stage, table) == []
    stage.observe(kernels([1.0]), ["another"], [200.0])  # neither was measured after all
    assert probes(stage, table) == [0, 1]


def test_what_is_no_better_than_the_best_by_the_draft_tests_nothing() -> None:
    assert probes(begun(), kernels([1.25 * L0, 1.0], macs=SLOW)) == []


def test_a_probe_of_a_limit_says_so() -> None:
    verdict = begun().judge(NEAR, names(NEAR)).verdict(0)
    assert (verdict.keep, verdict.probe) == (True, True)
    assert verdict.rule == "capacity{scope=l0a}"
    assert verdict.reason == "needs 81920 B of l0a, there are 65536 B"


def measured(stage: TrialStage, need: float, us: float) -> None:
    table = kernels([need, 1.0])
    assert probes(stage, table) == [0]
    stage.observe(table.take([0]), ["c0"], [us])


def test_what_runs_raises_the_limit_to_what_it_needs_and_no_further() -> None:
    stage = begun()
    measured(stage, 1.25 * L0, 50.0)
    table = kernels([1.2 * L0, 1.25 * L0, 1.4 * L0], macs=SLOW)
    judged = stage.judge(table, names(table))
    assert judged.keep.tolist() == [True, True, False]
    assert judged.verdict(2).reason == "needs 91750.4 B of l0a, the most that ran needs 81920 B"
    assert judged.verdict(2).rule == "capacity{scope=l0a}"
    assert np.isfinite(stage.draft(table)).tolist() == [True, True, False]
    assert stage.limits.raised == [
        "capacity{scope=l0a}: the limit was 65536 B, and a kernel that needs 81920 B ran: that is"
        " the limit now"
    ]
    assert not stage.judge(kernels([1.0], 1.2 * L0), ["x"], rescue=False).keep.any()


def test_one_candidate_is_judged_by_the_raised_limit_as_a_batch_is() -> None:
    stage, needs = begun(), [1.25 * L0, 1.4 * L0]
    measured(stage, 1.25 * L0, 50.0)
    batch = stage.judge(kernels(needs, macs=SLOW), ["x", "y"], rescue=False)
    singles = [stage.judge(kernels([n], macs=SLOW), ["x"], rescue=False) for n in needs]
    assert [bool(j.keep[0]) for j in singles] == batch.keep.tolist() == [True, False]
    assert singles[1].verdict(0) == batch.verdict(1)


def test_what_fails_leaves_the_limit_and_nothing_as_large_is_tried_again() -> None:
    stage = begun()
    measured(stage, 1.2 * L0, np.inf)
    assert stage.limits.raised == []
    assert not stage.judge(NEAR, names(NEAR)).keep[0]
    assert probes(stage, kernels([1.2 * L0, 1.0])) == []
    measured(stage, 1.1 * L0, np.inf)
    assert probes(stage, kernels([1.05 * L0, 1.0])) == []


@settings(deadline=None, max_examples=30)
@given(
    needs=st.lists(st.floats(0.5, 2.0), min_size=1, max_size=12),
    truth=st.floats(0.7, 1.6),
)
def test_few_tests_fail_and_no_limit_ends_above_what_ran(needs: list[float], truth: float) -> None:
    stage, failed, most = begun(), 0, 1.0
    for i, need in enumerate(needs):
        table = kernels([need * L0, 1.0], macs=1e8 / 2**i)
        judged = stage.judge(table, names(table))
        if not judged.keep[0]:
            continue
        runs = need <= truth
        failed += bool(judged.tests[0]) and not runs
        most = max(most, need) if runs else most
        stage.observe(table.take([0]), ["c0"], [60.0 / 2**i if runs else np.inf])
    assert failed <= FAILURES
    beyond = kernels([most * L0 * 1.001], macs=SLOW)
    assert not stage.judge(beyond, ["x"], rescue=False).keep[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_run_tests_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = kernels(rng.uniform(0.5, 1.5, 50) * L0, rng.uniform(0.5, 1.5, 50) * L0)
    first, second = (probes(begun(seed=seed), table) for _ in range(2))
    assert first == second != []
