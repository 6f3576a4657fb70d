"""Backend ``cpu``: the columns of a kernel that LLVM compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, filterfalse, groupby

import numpy as np

from hwsim.columns import CPU_LEVELS
from tuner.nest import Access, Digit, IntColumn, Statement
from tuner.summary.common import Columns, common
from tuner.summary.cpu_loops import parallel_extent, unrolled, vector_lanes
from tuner.summary.geometry import (
    Region,
    address_step,
    element_bytes,
    extents,
    strides,
)
from tuner.summary.roles import Kernel
from tuner.summary.streams import Movement, stream_columns

_TASK_LEVEL = 2  # tiles that a core's own caches should hold: what memory is read for at a time


def columns(kernel: Kernel) -> Columns:
    """All columns of one kernel, the same before and after TVM's postprocessors."""
    tiles = Tiles(kernel)
    tasks = parallel_extent(kernel)
    lanes = vector_lanes(kernel)
    return {
        **common(kernel),
        **_tiles(tiles),
        **_levels(tiles),
        **stream_columns(_movements(tiles, tasks), "memory"),
        "blocks": tasks,
        "vector_lanes": lanes,
        "vector_stride": _vector_stride(kernel, lanes),
        "body_copies": unrolled(kernel, lanes),
        "acc_bytes": tiles.extent(0) * element_bytes(kernel.buffer(kernel.main.write)),
    }


class Tiles:
    """The tiles of the main statement: what its loops up to some **level** do.

    From the innermost loop outwards a new level begins where loops over the output and loops over
    the reduction take turns; level 0 are output loops (none, where the innermost is a reduction).
    Neighbouring loops of one sort are a run; which level it has, depends on the runs further in
    that iterate at all.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._runs = [list(run) for _, run in groupby(kernel.main.digits[::-1], _reduces)]
        self._levels = list(_levels_of(self._runs, kernel.n))
        self._walked: dict[int, list[tuple[IntColumn, IntColumn]]] = {}

    def extent(self, level: int, digits: Callable[[Digit], bool] = lambda d: True) -> IntColumn:
        """Iterations of those of the ``digits`` that lie within the level."""
        return self._product(level, lambda run: extents(filter(digits, run), self.kernel.n))

    def axis(self, level: int, axis: str) -> IntColumn:
        """Length of an axis of the product within the level."""
        return self._product(level, lambda run: self.kernel.extent(run, axis))

    def elements(self, access: Access, level: int) -> IntColumn:
        """Distinct elements that an access of the statement touches within the level."""
        return self._last(level, [elements for elements, _ in self._walk(access)])

    def run(self, access: Access, level: int) -> IntColumn:
        """Contiguous elements of those."""
        return self._last(level, [run for _, run in self._walk(access)])

    def _walk(self, access: Access) -> list[tuple[IntColumn, IntColumn]]:
        """Elements and contiguous elements: of no loop, then with one run more each time."""
        if id(access) not in self._walked:
            region = Region(access, self.kernel.buffer(access), self.kernel.n)
            grown = (region.grow(run) for run in ([], *self._runs))
            self._walked[id(access)] = [(r.elements, r.run) for r in grown]
        return self._walked[id(access)]

    def _product(self, level: int, of: Callable[[list[Digit]], IntColumn]) -> IntColumn:
        factors = (of(run) for run in self._runs)
        return self._last(level, list(accumulate(factors, np.multiply, initial=self._one)))

    def _last(self, level: int, grown: Sequence[IntColumn]) -> IntColumn:
        """That of the outermost run within the level; what lies beyond it does not iterate."""
        out = grown[0]
        for at, one in zip(self._levels, grown[1:], strict=True):
            out = np.where(at <= level, one, out)
        return out

    @property
    def _one(self) -> IntColumn:
        return np.ones(self.kernel.n, dtype=np.int64)


def _reduces(digit: Digit) -> bool:
    return digit.reduction


def _levels_of(runs: Iterable[list[Digit]], n: int) -> Iterator[IntColumn]:
    """The level ``(n,)`` of each run where it iterates, innermost first."""
    level = np.zeros(n, dtype=np.int64)
    reducing = np.zeros(n, dtype=bool)
    for run in runs:
        iterates, reduction = extents(run, n) > 1, run[0].reduction
        at = level + (reducing != reduction)
        yield at
        level = np.where(iterates, at, level)
        reducing = np.where(iterates, reduction, reducing)


def _tiles(tiles: Tiles) -> Columns:
    """The register tile and the reduction step around it; nothing depends on loops' kinds."""
    main, n = tiles.kernel.main, tiles.kernel.n
    tile_n, tile_k = tiles.axis(0, "n"), tiles.extent(1, _reduces)
    length = extents(filter(_reduces, main.digits), n)
    spatial = extents(filterfalse(_reduces, main.digits), n)
    one = np.ones(n, dtype=np.int64)
    return {
        "tile_m": tiles.axis(0, "m") * tiles.axis(0, "batch"),
        "tile_n": tile_n,
        "tile_k": tile_k,
        "reduce_length": length,
        "reduce_inner": tile_k,
        "k_steps": length // tile_k,
        "out_tiles": spatial // tiles.extent(0, lambda d: not d.reduction),
        "spatial_inner": tile_n,
        "loop_depth": one,
        **dict.fromkeys(("grid_m", "grid_n", "grid_batch"), one),
    }


def _levels(tiles: Tiles) -> Columns:
    kernel, main = tiles.kernel, tiles.kernel.main
    everything = extents(main.digits, kernel.n)
    out: Columns = {}
    for level in range(CPU_LEVELS):
        touched = [
            tiles.elements(a, level) * element_bytes(kernel.buffer(a))
            for a in (*main.reads, main.write)
        ]
        out[f"level{level}_bytes"] = reduce(np.add, touched)
        out[f"level{level}_runs"] = everything // tiles.extent(level)
    return out


def _vector_stride(kernel: Kernel, lanes: IntColumn) -> IntColumn:
    """Widest step between lanes; a vectorised innermost loop that strides gathers its elements."""
    innermost = next(reversed(kernel.main.digits), None)
    widest = np.zeros(kernel.n, dtype=np.int64)
    if innermost is None:
        return widest
    for access in (*kernel.main.reads, kernel.main.write):
        step = address_step(access, innermost, strides(kernel.buffer(access), kernel.n), kernel.n)
        widest = np.maximum(widest, step)
    return np.where(lanes > 1, widest, 0)


def _movements(tiles: Tiles, tasks: IntColumn) -> Iterator[Movement]:
    """What comes from memory and goes there, tile by tile of the main statement; other statements
    move their tensors once.
    """
    kernel = tiles.kernel
    written = {s.write.buffer for s in kernel.statements}
    read = {r.buffer for s in kernel.statements for r in s.reads}
    for s in kernel.statements:
        for access in s.reads:
            if access.buffer not in written:
                stream = f"{kernel.label(access)}_memory_core"
                yield _movement(tiles, stream, access, tasks, s)
        if s.write.buffer not in read:
            yield _movement(tiles, "c_core_memory", s.write, tasks, s)


def _movement(
    tiles: Tiles, stream: str, access: Access, tasks: IntColumn, statement: Statement
) -> Movement:
    kernel = tiles.kernel
    buffer, n = kernel.buffer(access), kernel.n
    size = element_bytes(buffer)
    whole = Region(access, buffer, n).grow(statement.digits)
    if statement is kernel.main:
        count = extents(statement.digits, n) // tiles.extent(_TASK_LEVEL)
        moved, run = tiles.elements(access, _TASK_LEVEL), tiles.run(access, _TASK_LEVEL)
    else:
        count, moved, run = np.ones(n, dtype=np.int64), whole.elements, whole.run
    return Movement(
        stream=stream,
        tensor=access.buffer,
        count=np.maximum(1, count // tasks),
        block_bytes=moved * size * count / tasks,
        unique_bytes=(whole.elements * size).astype(np.float64),
        shape={"run_bytes": run * size},
    )
