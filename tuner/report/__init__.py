"""The report of a benchmark: one HTML file that works offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_report(out: Path, results: dict[str, Any], curves: Sequence[dict[str, Any]]) -> Path:
    """Write ``report.html`` from the content of ``results.json`` and the convergence curves."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    from tuner.bench.show import COLUMNS, cell_text
    from tuner.report.plots import blame, convergence

    # Reasons, rules and chip names are other people's text: all is escaped but our own plots.
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    sections = [
        {
            "chip": chip,
            "workload": workload,
            "cells": cells,
            "convergence": Markup(convergence([c for c in curves if _of(c, chip, workload)])),
            "blame": [
                (c["arm"], Markup(blame(c["rules"])), c["notes"]) for c in cells if c["rules"]
            ],
        }
        for chip, workload, cells in _sections(results["cells"])
    ]
    html = environment.get_template("report.html.j2").render(
        header=results["header"], sections=sections, columns=COLUMNS, text=cell_text
    )
    path = out / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def _of(row: dict[str, Any], chip: str, workload: str) -> bool:
    return bool(row["chip"] == chip and row["workload"] == workload)


def _sections(cells: Sequence[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    keys = dict.fromkeys((c["chip"], c["workload"]) for c in cells)
    return [(chip, w, [c for c in cells if _of(c, chip, w)]) for chip, w in keys]
