"""Which way each measure of ``docs/metrics.md`` is better; what is left out is neither."""

from __future__ import annotations

LOWER_IS_BETTER = frozenset(
    {
        "best_us",
        "failed",
        "false_prune_rate",
        "run_regret",
        "space_false_prune_rate",
        "space_regret",
        "trials_to_1pct",
        "unconverged",
        "versus_none",
    }
)
HIGHER_IS_BETTER = frozenset(
    {
        "convergence_speedup_time",
        "convergence_speedup_trials",
        "model_pairwise_accuracy",
        "model_peak_at_1",
        "model_peak_at_5",
        "node_prune_rate",
        "pruning_rate",
        "pruning_rate_above_verifier",
        "task_prune_rate",
        "worthless_recall",
    }
)


def direction(measure: str) -> int:
    """1 where more is better, -1 where less is, 0 where the measure only describes."""
    return (measure in HIGHER_IS_BETTER) - (measure in LOWER_IS_BETTER)


def judged(measure: str, before: float | None, after: float | None) -> str:
    """``better``, ``worse`` or ``changed``: what a change means; None: the measure has no value."""
    gained: float
    if before is None or after is None:
        gained = direction(measure) != 0 and (after is not None) - (before is not None)
    else:
        gained = direction(measure) * (after - before)
    return "better" if gained > 0 else "worse" if gained < 0 else "changed"
