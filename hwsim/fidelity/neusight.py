"""Readers of NeuSight's collections: PyTorch calls on many GPUs, timed by CUDA events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from hwsim.fidelity.data import Finding, Part, Skip, Source, integers, numbers
from hwsim.fidelity.shelf import Shelf, on_chip
from hwsim.fidelity.torch_ops import GAP_US, elementwise, layer_norm, softmax
from hwsim.gpu_sm.library import library_gemm
from hwsim.table import KernelTable

OVERHEAD_US = 100.0  # below it dispatch and launch outweigh the kernel
_SLICES = r"sliced1x(\d)"  # thread groups that divide the reduction, in the kernel's name


def matmul(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``neusight_linear`` and ``neusight_bmm``: the kernel that the library chose is named."""
    needed = ("B", "M", "N", "K", "tile_m", "tile_n", "block")
    yield from _by_device(source, shelf, needed, _matmul)


def vector(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``neusight_vec``: softmax, layer norm and the sum of two tensors."""
    yield from _by_device(source, shelf, ("rows", "cols"), _vector)


def _by_device(
    source: Source,
    shelf: Shelf,
    needed: tuple[str, ...],
    table_of: Callable[[str, pd.DataFrame], KernelTable | None],
) -> Iterator[Finding]:
    for device, rows in source.frame.groupby("device", sort=True):
        chip, fine, skips = on_chip(shelf, str(device), rows, needed)
        yield from skips
        if chip is None:
            continue
        for op, frame in fine.groupby("op", sort=True):
            table = table_of(str(op), frame)
            if table is None:
                yield Skip(chip.name, len(frame), f"op {op!r}: no kernels known")
                continue
            measured = 1e3 * numbers(frame, "latency_ms")
            yield Part(
                chip, table, measured, str(op), added_us=GAP_US[str(op)], split_us=OVERHEAD_US
            )


def _matmul(op: str, f: pd.DataFrame) -> KernelTable | None:
    if op not in ("linear", "bmm") or set(f["dtype"]) != {"fp32"}:
        return None
    slices = f["kernel_name"].str.extract(_SLICES)[0].fillna("1").astype(int)
    return library_gemm(
        *(integers(f, c) for c in ("M", "N", "K", "tile_m", "tile_n", "block")),
        batch=integers(f, "B"),
        slices=np.asarray(slices),
        split_k=np.maximum(integers(f, "split_k"), 1),
        fast_m=np.asarray(f["family"] == "xmma"),
        bias=op == "linear",
        k_contiguous=op == "linear",
    )


def _vector(op: str, f: pd.DataFrame) -> KernelTable | None:
    rows, columns = integers(f, "rows"), integers(f, "cols")
    if op == "softmax":
        return softmax(rows, columns)
    if op == "ln":
        return layer_norm(rows, columns)
    return elementwise(rows * columns, inputs=2, alu_ops=1) if op == "add" else None
