"""What one run's log shows: how the search moved, what each rule took away, whether the gate's
word was worth something.  SVG text; the same log gives the same bytes.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from traces import Trial
from tuner.report.plots import figure_of, plain, svg

STATES = (
    ("pruned", "x", "#d6604d"),
    ("rejected", "+", "#999999"),
    ("failed", "v", "#762a83"),
)
BINS = 10  # of the gate's probability


def state_of(trial: Trial) -> str:
    """``measured``, ``failed``, ``pruned`` (trial stage) or ``rejected`` (TVM's verifier)."""
    if trial.measurement is not None:
        return "measured" if trial.measurement.failure is None else "failed"
    stage = trial.verdict["stage"] if trial.verdict else "trial"
    return "rejected" if stage == "verifier" else "pruned"


def progress(trials: list[Trial]) -> str:
    """Every candidate in the order in which it was offered, and the best so far."""
    figure, ax = figure_of(9, 2.8)
    states = np.array([state_of(t) for t in trials])
    us = np.array([t.measurement.mean_us if t.measurement else np.nan for t in trials])
    worked = np.flatnonzero(states == "measured")
    if len(worked):
        ax.scatter(worked, us[worked], s=9, color="#4393c3", label="measured", zorder=2)
        best = np.minimum.accumulate(us[worked])
        ax.step(worked, best, where="post", color="#08306b", lw=1.4, label="best so far")
        ax.set_yscale("log")
    for name, marker, colour in STATES:
        at = np.flatnonzero(states == name)
        if len(at):
            ax.scatter(at, np.full(len(at), 0.03), s=14, marker=marker, color=colour, lw=0.8,
                       label=name, transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xlabel("candidates in the order in which they were offered")
    ax.set_ylabel("measured mean, us")
    ax.legend(loc="upper right", frameon=False, ncols=5, fontsize=8)
    return svg(figure)


def projection(trials: list[Trial]) -> str:
    """Candidates in the two directions in which their decisions differ most (PCA)."""
    figure, ax = figure_of(6.5, 4.2)
    at = _plane(trials)
    states = np.array([state_of(t) for t in trials])
    for name, marker, colour in STATES:
        rows = at[states == name]
        if len(rows):
            ax.scatter(rows[:, 0], rows[:, 1], s=16, marker=marker, color=colour, lw=0.8,
                       label=name)  # fmt: skip
    worked = [i for i, t in enumerate(trials) if states[i] == "measured"]
    if worked:
        us = np.array([_us(trials[i]) for i in worked])
        dots = ax.scatter(at[worked, 0], at[worked, 1], s=18, c=np.log10(us), cmap="viridis",
                          label="measured")  # fmt: skip
        figure.colorbar(dots, label="log10 of the measured mean in us")
        path = [i for j, i in enumerate(worked) if us[j] <= us[: j + 1].min()]
        ax.plot(at[path, 0], at[path, 1], color="#08306b", lw=1, alpha=0.7, label="best so far")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.legend(loc="best", frameon=False, fontsize=8)
    return svg(figure)


def _us(trial: Trial) -> float:
    assert trial.measurement is not None
    return trial.measurement.mean_us


def _plane(trials: list[Trial]) -> NDArray[np.float64]:
    """``(n, 2)``: principal components of the decisions (log2, since factors multiply)."""
    width = max(len(t.decisions) for t in trials)
    sketches = max(t.sketch for t in trials) + 1
    rows = np.zeros((len(trials), width + sketches))
    for i, t in enumerate(trials):
        rows[i, : len(t.decisions)] = np.log2(np.maximum(np.array(t.decisions) + 1, 1))
        rows[i, width + t.sketch] = 1.0
    centred = rows - rows.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.vstack([axes, np.zeros((2, rows.shape[1]))])[:2]
    signs = np.sign(axes[np.arange(2), np.argmax(np.abs(axes), axis=1)])
    return np.asarray(centred @ (axes * np.where(signs == 0, 1, signs)[:, None]).T)


def waterfall(trials: list[Trial]) -> str:
    """From what was offered to what worked: what each rule, TVM and failures took away."""
    taken = Counter(_taker(t) for t in trials if state_of(t) != "measured")
    left, rows = len(trials), [("offered", 0, len(trials), "#4393c3")]
    for (state, name), n in sorted(taken.items(), key=lambda item: (item[0][0], -item[1])):
        order = {"pruned": "#d6604d", "rejected": "#999999", "failed": "#762a83"}
        left -= n
        rows.append((f"{state}: {name}", left, n, order[state]))
    rows.append(("measured and works", 0, left, "#4393c3"))
    figure, ax = figure_of(9, 0.5 + 0.27 * len(rows))
    labels = [plain(label) for label, *_ in rows][::-1]
    bars = ax.barh(
        labels,
        [n for _, _, n, _ in rows][::-1],
        left=[start for _, start, _, _ in rows][::-1],
        color=[colour for *_, colour in rows][::-1],
    )
    ax.bar_label(bars, labels=[str(n) for _, _, n, _ in rows][::-1], padding=3)
    ax.set_xlabel("candidates")
    ax.margins(x=0.1)
    return svg(figure)


def _taker(trial: Trial) -> tuple[str, str]:
    state = state_of(trial)
    if trial.measurement is not None:
        return state, str(trial.measurement.failure)
    return state, str(trial.verdict["rule"]) if trial.verdict else "unknown"


def reliability(trials: list[Trial]) -> str | None:
    """What the gate promised of measured candidates against what came; None where it said nothing.

    A candidate is worthless where it failed or was slower than the best of the rounds before.
    """
    said, came = _promises(trials)
    if not len(said):
        return None
    figure, ax = figure_of(4.2, 3.2)
    bin_of = np.minimum((said * BINS).astype(int), BINS - 1)
    held = [b for b in range(BINS) if (bin_of == b).any()]
    share = [came[bin_of == b].mean() for b in held]
    count = [int((bin_of == b).sum()) for b in held]
    mean = [said[bin_of == b].mean() for b in held]
    ax.plot([0, 1], [0, 1], color="#999999", lw=0.8, ls="--")
    ax.scatter(mean, share, s=12 + 6 * np.sqrt(count), color="#2166ac")
    for x, y, n in zip(mean, share, count, strict=True):
        ax.annotate(str(n), (x, y), xytext=(5, 4), textcoords="offset points", fontsize=7)
    ax.set_xlabel("the gate's probability of being worthless")
    ax.set_ylabel("share that was worthless")
    return svg(figure)


def _promises(trials: list[Trial]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    said, came = [], []
    best, pending, current = float("inf"), float("inf"), 0
    for t in trials:
        if t.round != current:
            best, current = min(best, pending), t.round
        if t.measurement is None:
            continue
        probability = (t.verdict or {}).get("probability")
        if probability is not None:
            said.append(float(probability))
            came.append(float(t.measurement.mean_us > best))
        pending = min(pending, t.measurement.mean_us)
    return np.array(said), np.array(came)
