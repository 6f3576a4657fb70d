"""The report of a benchmark: one HTML file that works offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any


def write_report(
    out: Path,
    results: dict[str, Any],
    curves: Sequence[dict[str, Any]],
    extra: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write ``report.html`` from the content of ``results.json`` and the convergence curves.

    ``extra``: what :func:`tuner.report.folder.report_folder` adds: spaces, runs, fidelity.
    """
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    from tuner.bench.show import COLUMNS, cell_text, sections
    from tuner.report.plots import blame, convergence

    # Reasons, rules and chip names are other people's text: all is escaped but our own plots.
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)
    parts = [
        {
            "title": " · ".join(key),
            "cells": cells,
            "convergence": Markup(convergence([c for c in curves if _key(c) == key])),
            "blame": [(c["arm"], Markup(blame(c["rules"]))) for c in cells if c["rules"]],
            "notes": [(c["arm"], note) for c in cells for note in c["notes"]],
        }
        for key, cells in sections(results["cells"])
    ]
    html = environment.get_template("report.html.j2").render(
        header=results["header"], sections=parts, columns=COLUMNS, text=cell_text, **extra
    )
    path = out / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def _key(curve: dict[str, Any]) -> tuple[str, str, str]:
    return curve["chip"], curve.get("space") or curve["workload"], curve["strategy"]
