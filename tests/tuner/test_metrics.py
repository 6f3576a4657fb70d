"""The measures, on histories small enough to check by hand."""

from collections import Counter

import numpy as np
import pytest

from traces import End, Header
from tuner.bench.history import History
from tuner.bench.metrics import Judged, nodes, of_run, over_seeds, space
from tuner.truth import Truth

HEADER = Header(
    version="0", run="r", chip="c", chip_hash="h", workload="w", workload_hash="wh", arm="a",
    rule_set="default", rules_hash="rh", strategy="random", backend="sim", seed=0, trials=3,
    repeats=1, batch=1,
)  # fmt: skip
NAN, INF = np.nan, np.inf


def run(true_us: list[float], measured: list[bool], *, rejects: list[bool] | None = None) -> Judged:
    """A run without noise: what was not measured was pruned; each measurement costs a second."""
    n, took = len(true_us), np.array(measured)
    history = History(
        header=HEADER,
        end=End(measured=int(took.sum()), pruned=0, failed=0, best_us=None, best_candidate=None,
                virtual_s=float(took.sum()), reason="budget"),
        candidates=tuple(f"c{i}" for i in range(n)),
        sketch=np.zeros(n, np.int64),
        decisions=tuple((i,) for i in range(n)),
        pruned=~took,
        rejected=np.zeros(n, bool),
        mean_us=np.where(took, true_us, NAN),
        predicted_us=np.full(n, NAN),
        round=np.zeros(n, np.int64),
        virtual_s=np.cumsum(took).astype(float),
        rules_pruned={"trial": Counter()},
        nodes_before=10,
        nodes_after=4,
        notes=(),
    )  # fmt: skip
    return Judged(
        history, Truth(np.array(true_us), np.array(rejects or [False] * n), np.zeros(n, np.int64))
    )


def test_convergence_is_when_the_incumbent_first_reaches_the_target() -> None:
    control = run([9, 8, 5, 4, 4.5], [True] * 5)
    arm = run([9, 8, 4.02, 6], [True, False, True, True])
    measures = of_run(arm, control, optimum_us=4.0)
    assert measures["convergence_speedup_trials"] == 4 / 2
    assert measures["convergence_speedup_time"] == 4 / 2
    assert measures["versus_none"] == pytest.approx(0.005)
    assert measures["run_regret"] == pytest.approx(0.005)
    assert measures["unconverged"] == 0


def test_an_arm_that_never_converges_counts_with_its_whole_run() -> None:
    control = run([9, 4], [True, True])
    arm = run([9, 8, 7, 6], [True] * 4)
    measures = of_run(arm, control, optimum_us=4.0)
    assert measures["unconverged"] == 1
    assert measures["convergence_speedup_trials"] == 2 / 4


def test_rates_count_what_was_offered() -> None:
    #         kept   worthless, skipped   near optimum, skipped   failing, measured
    judged = run(
        [5.0, 9.0, 4.1, INF], [True, False, False, True], rejects=[False, True, False, False]
    )
    measures = of_run(judged, None, optimum_us=4.0)
    assert measures["pruning_rate"] == 2 / 4
    assert measures["pruning_rate_above_verifier"] == 1 / 4
    assert measures["false_prune_rate"] == 1.0
    assert measures["worthless_recall"] == 1 / 2
    assert measures["task_prune_rate"] == pytest.approx(0.6)
    assert measures["failed"] == 1


def test_a_worse_candidate_is_worthless_only_after_a_better_one_was_measured() -> None:
    assert of_run(run([9.0, 5.0], [False, True]), None, 4.0)["worthless_recall"] == 0.0
    assert of_run(run([5.0, 9.0], [True, False]), None, 4.0)["worthless_recall"] == 1.0


def test_nothing_that_works_gives_no_finite_regret() -> None:
    measures = of_run(run([INF, INF], [True, True]), None, optimum_us=4.0)
    assert measures["best_us"] == INF
    assert over_seeds([measures])["run_regret"]["median"] is None


def test_space_regret_is_what_the_best_survivor_lacks() -> None:
    latency = np.array([4.0, 4.1, 5.0, INF])
    kept = space(np.array([False, False, True, True]), latency, 4.0)
    assert kept == {"space_regret": pytest.approx(0.25), "space_false_prune_rate": 1.0}
    assert space(np.ones(4, bool), latency, 4.0)["space_regret"] == 0.0


def test_nodes_separate_invalid_from_valid_ones() -> None:
    validity = [{"i": np.array([True, False, False]), "v": np.array([True, True])}]
    allowed = [{"i": np.array([True, False, True]), "v": np.array([True, False])}]
    found = nodes(validity, allowed)
    assert found["node_prune_rate"] == 1 / 2
    assert found["valid_nodes_pruned"] == 1 / 3


def test_median_and_range_over_seeds() -> None:
    rows = [{"x": 1.0}, {"x": 5.0}, {"x": 2.0}]
    assert over_seeds(rows) == {"x": {"median": 2.0, "low": 1.0, "high": 5.0}}


def test_without_a_working_control_nothing_is_held_against_it() -> None:
    control, arm = run([INF, INF], [True, True]), run([INF, 3.0], [True, True])
    rows = [of_run(arm, control, 3.0), of_run(arm, run([4.0], [True]), 3.0)]
    assert np.isnan(rows[0]["versus_none"])
    cell = over_seeds(rows)
    assert cell["versus_none"]["median"] == pytest.approx(-0.25)
    assert over_seeds(rows[:1])["convergence_speedup_time"]["median"] is None


def test_where_nothing_works_nothing_is_near_the_optimum() -> None:
    assert of_run(run([INF, INF], [False, False]), None, INF)["false_prune_rate"] == 0
    assert space(np.array([False]), np.array([INF]), INF)["space_false_prune_rate"] == 0
