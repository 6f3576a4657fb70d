"""Candidates of padded convolutions that TVM refuses to replay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Buffer, IntColumn, Statement
from tuner.summary.geometry import moves, product, quasi_affine
from tuner.summary.roles import Kernel


def lost_rows(kernel: Kernel) -> IntColumn:
    """1 where TVM loses track of the rows that an epilogue writes.

    Where each block copies out all rows, padding included, in one loop with nothing but the rows
    and a last row's elements in it, TVM reads the padding's guard as a condition on that loop, and
    cannot prove any more that the rows, cut into height and width, are all written.  ``compute_at``
    then raises a ScheduleError.  Found by trying all tilings; other shapes it does not look into.
    """
    lost = np.zeros(kernel.n, dtype=bool)
    for s in kernel.statements:
        if s.cooperative and s.role == "compute" and kernel.scope(s.write) == "global":
            lost = lost | _lost(s, kernel.buffer(s.write), kernel.n)
    return np.where(lost, 1, 0)


def _lost(s: Statement, buffer: Buffer, n: int) -> NDArray[np.bool_]:
    cut = [i for i, splits in enumerate(s.write.splits) if splits]
    if not cut:
        return np.zeros(n, dtype=bool)
    rows = replace(
        s.write,
        dims=tuple(s.write.dims[i] for i in cut),
        splits=tuple(s.write.splits[i] for i in cut),
    )
    names = {d for dim in rows.dims for d in dim} | {
        d for x in rows.splits for q in x for d in q.coefs
    }
    tile = [d for d in s.digits if d.kind == "tile"]
    last = max((i for i, d in enumerate(tile) if d.name in names), default=-1)
    lost, padded = quasi_affine(rows, n), np.ones(n, dtype=np.int64)
    for d in s.digits:
        counts, alone = moves(rows, d.name, n), d.extent == 1
        if d.kind != "tile":
            lost = lost & (alone | ~counts)
        elif d in tile[:last]:
            lost = lost & (alone | counts)
        padded = padded * np.where(counts, d.extent, 1)
    return lost & (padded > product((buffer.shape[i] for i in cut), n))
