"""Plots of a benchmark as SVG text; the same run gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

COLOURS = {
    "none": "#777777",
    "task": "#e08214",
    "trial": "#35978f",
    "two-stage": "#2166ac",
    "tvm": "#b2182b",
}
OTHER = "#5aae61"
_FIXED: Any = {"svg.hashsalt": "prunelab", "svg.fonttype": "none", "font.size": 9}


def convergence(curves: Sequence[dict[str, Any]]) -> str:
    """Best latency so far against virtual time and against measurements, a line a seed."""
    with mpl.rc_context(_FIXED):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
        for ax, key, end, label in (
            (axes[0], "virtual_s", "end_virtual_s", "virtual seconds on real boards"),
            (axes[1], "trial", "end_trial", "measurements"),
        ):
            for curve in curves:
                _step(ax, curve, key, end)
            ax.set_xlabel(label)
            ax.set_yscale("log")
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("best latency, us")
        if any(curve["trial"] for curve in curves):
            axes[1].legend(loc="upper right", frameon=False)
        return svg(figure)


def _step(ax: Any, curve: dict[str, Any], key: str, end: str) -> None:
    if not curve[key]:
        return
    x = [*curve[key], curve[end]]
    y = [*curve["latency_us"], curve["latency_us"][-1]]
    arm = curve["arm"]
    known = {text.get_label() for text in ax.get_lines()}
    label = arm if arm not in known else None
    ax.step(x, y, where="post", color=COLOURS.get(arm, OTHER), alpha=0.75, lw=1.2, label=label)


def blame(rules: Sequence[dict[str, Any]]) -> str:
    """How many candidates (or values, in the task stage) each rule pruned."""
    with mpl.rc_context(_FIXED):
        figure, ax = plt.subplots(figsize=(9, 0.4 + 0.28 * max(1, len(rules))))
        labels = [plain(f"{r['stage']}: {r['rule']}") for r in rules][::-1]
        counts = [r["pruned"] for r in rules][::-1]
        colours = {"task": "#e08214", "trial": "#2166ac", "verifier": "#777777"}
        bars = ax.barh(labels, counts, color=[colours[r["stage"]] for r in rules][::-1])
        ax.bar_label(bars, padding=3)
        ax.set_xlabel("pruned, all seeds")
        ax.margins(x=0.12)
        return svg(figure)


def plain(text: str) -> str:
    """Text that matplotlib will not read as mathematics, cut to a readable length."""
    short = text if len(text) <= 70 else text[:67] + "..."
    return short.replace("$", r"\$")


def figure_of(width: float, height: float) -> tuple[Any, Any]:
    """A figure of one plot, in inches."""
    with mpl.rc_context(_FIXED):
        return plt.subplots(figsize=(width, height))


def svg(figure: Any) -> str:
    """The figure as SVG text without a date; the figure is closed."""
    buffer = io.StringIO()
    with mpl.rc_context(_FIXED):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
