"""Names of runs as the progress bars show them."""

from __future__ import annotations

import pytest

from tuner.bench.plan import Plan
from tuner.cli.progress import Bars


@pytest.mark.parametrize("model", ["", "__mlp"])
def test_every_run_gets_a_bar(model: str) -> None:
    with Bars(Plan()) as bars:
        bars.update((f"a100__gemm-1__none__evolutionary{model}__seed3", 8, 0, 0, 1.5, False))
        (task,) = [t for t in bars._progress.tasks if t.description.startswith("a100")]
    assert task.description.split() == ["a100", "gemm-1", "none", *model.strip("_").split(), "3"]
