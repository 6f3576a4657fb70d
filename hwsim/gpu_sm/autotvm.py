"""Kernel tables of AutoTVM's CUDA templates, from their tuned factors; one row each.

``conv2d_nchw``: a block makes ``f x y x x`` outputs, each axis split into [block, virtual thread,
thread, inner]; for every step of the split reduction all threads together copy the input patch and
the weights into shared memory.  ``batch_matmul`` is the same with axes of [block, thread, inner].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd, prod

from hwsim.table import KernelTable

_F32, _WARP, _VECTOR = 4, 32, 4
Columns = dict[str, float]


@dataclass(frozen=True)
class Conv2d:
    """Shape of a 2D convolution in NCHW: ``filters`` of ``depth x height x width``."""

    batch: int
    depth: int
    in_height: int
    in_width: int
    filters: int
    height: int
    width: int
    stride: tuple[int, int]
    padding: tuple[int, int]  # sum of both sides
    dilation: tuple[int, int]

    @property
    def out(self) -> tuple[int, int]:
        """Height and width of the output."""
        spans = ((self.height - 1) * self.dilation[0], (self.width - 1) * self.dilation[1])
        sizes = (self.in_height + self.padding[0], self.in_width + self.padding[1])
        rows, columns = (
            (size - span - 1) // step + 1
            for size, span, step in zip(sizes, spans, self.stride, strict=True)
        )
        return rows, columns


@dataclass(frozen=True)
class Split:
    """One axis in [block, virtual thread, thread, inner] parts."""

    block: int
    virtual: int
    thread: int
    inner: int

    @classmethod
    def of(cls, extent: int, factors: list[int]) -> Split:
        """``factors`` of three or four parts; -1 for the first stands for what is left."""
        inner = factors[1:]
        block = factors[0] if factors[0] > 0 else ceil(extent / prod(inner))
        virtual = inner[0] if len(inner) == 3 else 1
        return cls(block, virtual, inner[-2], inner[-1])

    @property
    def tile(self) -> int:
        """Extent that one block covers."""
        return self.virtual * self.thread * self.inner

    @property
    def mine(self) -> int:
        """Extent of one thread."""
        return self.virtual * self.inner


def conv2d_nchw(
    shape: Conv2d, f: Split, y: Split, x: Split, reduce: tuple[int, int, int], unroll: int
) -> KernelTable:
    """The direct convolution; ``reduce`` is the inner part of depth, filter rows and columns."""
    depth, rows, columns = reduce
    out_y, out_x = shape.out
    patch_y = (y.tile - 1) * shape.stride[0] + (rows - 1) * shape.dilation[0] + 1
    patch_x = (x.tile - 1) * shape.stride[1] + (columns - 1) * shape.dilation[1] + 1
    steps = ceil(shape.depth / depth) * ceil(shape.height / rows) * ceil(shape.width / columns)
    taps = depth * rows * columns
    patch, weights = depth * patch_y * patch_x, f.tile * taps
    threads = f.thread * y.thread * x.thread
    whole = rows == shape.height and columns == shape.width
    run = (taps if whole else columns, shape.depth * shape.height * shape.width)
    axes = (f, y, x)
    inputs = depth * _distinct(y, shape.stride[0], rows) * _distinct(x, shape.stride[1], columns)
    return KernelTable.of(
        "gpu_sm",
        **_common(axes, shape.batch, taps * steps, steps, unroll),
        macs_useful=float(shape.batch * shape.filters * out_y * out_x)
        * (shape.depth * shape.height * shape.width),
        shared_bytes=float(_F32 * (patch + weights)),
        tile_m=f.tile, tile_n=y.tile * x.tile, tile_k=taps,
        operand_regs=f.mine + y.mine * x.mine,
        **_staged("a", weights, threads, steps, *run),
        **_staged("b", patch, threads, steps, patch_x, shape.in_width),
        a_global_shared_unique_bytes=float(_F32 * shape.filters * run[1]),
        b_global_shared_unique_bytes=float(
            _F32 * shape.batch * shape.depth * shape.in_height * shape.in_width
        ),
        **_read("a", f.mine, steps, taps, threads, (x.thread * y.thread, 0, f.inner * taps)),
        **_read("b", inputs, steps, 1, threads, _lanes(shape, y, x, patch_x)),
        serial_loads=patch % threads > 0 or weights % threads > 0,
        **_written(axes, threads, out_x, shape.batch * shape.filters * out_y * out_x),
    )  # fmt: skip


def _distinct(axis: Split, stride: int, taps: int) -> int:
    """Input positions that a thread reads along one axis: unrolled taps share what overlaps."""
    reach = (axis.inner - 1) * stride + taps
    return axis.virtual * min(reach, axis.inner * taps)


def _lanes(shape: Conv2d, y: Split, x: Split, patch_x: int) -> tuple[int, int, int]:
    """How the lanes of a warp lie in the patch: run, step inside it, step between runs.

    Threads of another filter read the same addresses: where a warp holds several of them its rows
    are taken to lie side by side.
    """
    step = x.inner * shape.stride[1]
    if x.thread * y.thread < _WARP:
        return x.thread * y.thread, step, 0
    return x.thread, step, y.inner * shape.stride[0] * patch_x


def batch_matmul(
    batch: int, m: int, n: int, k: int, y: Split, x: Split, inner_k: int, unroll: int
) -> KernelTable:
    """``C[b, m, n] = A[b, m, k] B[b, n, k]``; ``y`` splits m, ``x`` n."""
    steps = ceil(k / inner_k)
    threads = y.thread * x.thread
    one = Split(1, 1, 1, 1)
    return KernelTable.of(
        "gpu_sm",
        **_common((one, y, x), batch, inner_k * steps, steps, unroll),
        macs_useful=float(batch * m * n * k),
        shared_bytes=float(_F32 * inner_k * (y.tile + x.tile)),
        tile_m=y.tile, tile_n=x.tile, tile_k=inner_k, operand_regs=y.mine + x.mine,
        **_staged("a", y.tile * inner_k, threads, steps, inner_k, k),
        **_staged("b", x.tile * inner_k, threads, steps, inner_k, k),
        a_global_shared_unique_bytes=float(_F32 * batch * m * k),
        b_global_shared_unique_bytes=float(_F32 * batch * n * k),
        **_read("a", y.mine, steps, inner_k, threads, (x.thread, 0, y.inner * inner_k)),
        **_read("b", x.mine, steps, inner_k, threads, (x.thread, x.inner * inner_k, 0)),
        **_written((one, y, x), threads, n, batch * m * n),
    )  # fmt: skip


def _common(
    axes: tuple[Split, Split, Split], batch: int, taps: int, steps: int, unroll: int
) -> Columns:
    threads, mine = prod(a.thread for a in axes), prod(a.mine for a in axes)
    blocks = batch * prod(a.block for a in axes)
    macs = float(blocks * threads * mine * taps)
    return {
        "flops": 2 * macs, "macs": macs, "blocks": blocks, "threads": threads,
        "vthreads": prod(a.virtual for a in axes), "acc_regs": mine, "k_steps": steps,
        "grid_m": axes[0].block, "grid_n": axes[1].block * axes[2].block, "grid_batch": batch,
        "reduce_length": taps, "reduce_inner": taps // steps, "barriers": 2 * steps,
        "unroll": unroll, "shared_static": 1,
    }  # fmt: skip


def _staged(operand: str, elements: int, threads: int, steps: int, run: int, pitch: int) -> Columns:
    """A tile copied by all threads together, one element an access, neighbours along a run."""
    s = f"{operand}_global_shared"
    each = ceil(elements / threads)
    return {
        f"{s}_count": each * steps, f"{s}_bytes": _F32 * elements / each,
        f"{s}_run_bytes": float(_F32 * run), f"{s}_thread_run": run,
        f"{s}_stride1_bytes": _F32, f"{s}_stride2_bytes": float(_F32 * pitch),
    }  # fmt: skip


def _read(
    operand: str, mine: int, steps: int, run: int, threads: int, lanes: tuple[int, int, int]
) -> Columns:
    """Operands from shared memory: ``mine`` runs of ``run`` elements a thread and step.

    The compiler joins loads along a run as far as its length keeps them aligned.  ``lanes``: how
    many threads lie in a row, their distance, and that of rows, in elements.
    """
    s = f"{operand}_shared_local"
    width = gcd(run, _VECTOR)
    thread_run, stride1, stride2 = lanes
    return {
        f"{s}_count": mine * (run // width) * steps, f"{s}_lanes": width,
        f"{s}_bytes": float(_F32 * width * threads), f"{s}_thread_run": thread_run,
        f"{s}_stride1_bytes": float(_F32 * stride1), f"{s}_stride2_bytes": float(_F32 * stride2),
    }  # fmt: skip


def _written(axes: tuple[Split, Split, Split], threads: int, pitch: int, elements: int) -> Columns:
    s, (_, y, x) = "c_local_global", axes
    return {
        f"{s}_count": prod(a.mine for a in axes), f"{s}_bytes": float(_F32 * threads),
        f"{s}_run_bytes": float(_F32 * x.tile), f"{s}_unique_bytes": float(_F32 * elements),
        f"{s}_thread_run": x.thread, f"{s}_stride1_bytes": float(_F32 * x.inner),
        f"{s}_stride2_bytes": float(_F32 * y.inner * pitch),
    }  # fmt: skip
