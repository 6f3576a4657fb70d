"""The result table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.cli.tables import show

COLUMNS = (
    ("task cut", "task_prune_rate", "share"),
    ("pruned", "pruning_rate", "share"),
    ("above verifier", "pruning_rate_above_verifier", "share"),
    ("false prunes", "false_prune_rate", "share"),
    ("space regret", "space_regret", "share"),
    ("run regret", "run_regret", "share"),
    ("trials to 1%", "trials_to_1pct", "number"),
    ("vs none", "versus_none", "signed"),
    ("best us", "best_us", "number"),
    ("speed-up time", "convergence_speedup_time", "times"),
    ("speed-up trials", "convergence_speedup_trials", "times"),
    ("model pairs", "model_pairwise_accuracy", "share"),
    ("model peak@1", "model_peak_at_1", "share"),
    ("virtual s", "virtual_s", "number"),
)


def show_cells(cells: Sequence[dict[str, Any]]) -> None:
    """One table for each chip, workload and strategy; one line an arm, medians over the seeds."""
    titles = ("arm", *(title.replace(" ", "\n", 1) for title, _, _ in COLUMNS))
    for section, group in sections(cells):
        rows = [(c["arm"], *(cell_text(c, key, kind) for _, key, kind in COLUMNS)) for c in group]
        show(titles, rows, title="  ".join(section), numbers=True)


def sections(
    cells: Sequence[dict[str, Any]],
) -> list[tuple[tuple[str, str, str], list[dict[str, Any]]]]:
    """Cells by (chip, workload, strategy), in the order in which these come first."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        key = cell["chip"], cell.get("space") or cell["workload"], cell["strategy"]
        groups.setdefault(key, []).append(cell)
    return list(groups.items())


def cell_text(cell: dict[str, Any], key: str, kind: str) -> str:
    """A measure's median as text; a dash where the cell has none.

    A speed-up of an arm that in most seeds never came as far as the control is an upper bound.
    """
    value = _median(cell, key)
    if value is None:
        return "-"
    if kind == "share":
        return f"{value:.1%}"
    if kind == "signed":
        return f"{value:+.1%}"
    if kind == "times":
        bound = "<" if (_median(cell, "unconverged") or 0) >= 0.5 else ""
        return f"{bound}{value:.2f}x"
    return f"{value:.4g}"


def _median(cell: dict[str, Any], key: str) -> float | None:
    value = cell.get(key)
    return value.get("median") if isinstance(value, dict) else value


def show_space_kinds(cells: Sequence[dict[str, Any]]) -> None:
    """Generated and template spaces side by side, where a benchmark has both: size and best."""
    kinds = {cell["space_kind"] for cell in cells}
    if len(kinds) < 2:
        return
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        workload = cell["workload"].partition("@")[0]
        groups.setdefault((cell["chip"], workload, cell["space_kind"]), []).append(cell)
    rows = []
    for key, group in groups.items():
        best = min((v for c in group if (v := _median(c, "best_us")) is not None), default=None)
        size, optimum = group[0]["space_size"], group[0]["reference_optimum_us"]
        rows.append(
            (*key, f"{size:,}", *("-" if v is None else f"{v:.4g}" for v in (best, optimum)))
        )
    show(("chip", "workload", "space", "size", "best us", "known optimum us"), rows, title="spaces")
