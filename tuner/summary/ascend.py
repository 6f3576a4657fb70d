"""Backend ``ascend_cube``: the columns of a kernel on AI cores."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.nest import Statement
from tuner.summary.common import Columns, common
from tuner.summary.npu import capacity, dealt, matrix, transfer
from tuner.summary.passes import passes_in, vector_columns
from tuner.summary.roles import Kernel
from tuner.summary.streams import Movement, stream_columns

_SCOPES = {
    "l1": "shared.l1",
    "l0a": "local.l0a",
    "l0b": "local.l0b",
    "l0c": "local.l0c",
    "ub": "local.ub",
}


def columns(kernel: Kernel) -> Columns:
    """All columns of one kernel.

    L1 holds feature maps as they are: the load into L0A expands the windows of a convolution
    (load3d), so that what goes from global memory to L1 is what is distinct of them.
    """
    out = {**common(kernel), **matrix(kernel)}
    out |= vector_columns(passes_in(kernel, _SCOPES["ub"]), kernel.n)
    movements = [m for s in kernel.statements for m in _movements(kernel, s)]
    out |= stream_columns(movements, "gm")
    for column, scope in _SCOPES.items():
        out |= capacity(kernel, column, scope, raw=column == "l1")
    return dealt(kernel, out)


def _movements(kernel: Kernel, s: Statement) -> Iterator[Movement]:
    to = kernel.scope(s.write)
    for read in s.reads:
        source, label = kernel.scope(read), kernel.label(read)
        if source == "global":
            stream = f"{label}_gm_l1" if to == _SCOPES["l1"] else "x_gm_ub"
            yield transfer(kernel, s, read, stream)
        elif source == _SCOPES["l1"]:
            yield transfer(kernel, s, read, f"{label}_l1_l0{label}", expanded=True)
    if to == "global":
        from_cube = any(kernel.scope(r) == _SCOPES["l0c"] for r in s.reads)
        yield transfer(kernel, s, s.write, "c_l0c_gm" if from_cube else "c_ub_gm")
