"""Readers of collections that name the operation and its shape, but not the library's kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from hwsim.chip import Chip
from hwsim.fidelity.data import Finding, Part, Skip, Source, integers, numbers
from hwsim.fidelity.neusight import OVERHEAD_US
from hwsim.fidelity.shelf import Shelf, on_chip
from hwsim.fidelity.torch_ops import GAP_US, elementwise, layer_norm, softmax
from hwsim.gpu_sm.library_choice import fastest_gemm
from hwsim.table import KernelTable

# Host time inside LLMCompass's timed calls, us: the constants of its own model (hardware_model/
# compute_module.py), measured by its authors with empty inputs.
_LLMCOMPASS_US = {"matmul": 21.0, "softmax": 12.0, "layernorm": 45.0, "gelu": 45.0}
_GELU_OPS, _GELU_SPECIAL = 25.0, 1.0  # of the erf form, see torch_ops
_BITS = {"fp32": 32, "fp16": 16, "bf16": 16, "int8": 8}
TableOf = Callable[[str, pd.DataFrame, Chip], KernelTable | str]


def llmcompass(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``llmcompass_measured``: the A100 is one of 80 GB."""
    scaled = source.frame.assign(time_us=1e3 * numbers(source.frame, "latency_ms"))
    for device, rows in scaled.groupby("device", sort=True):
        board = "a100-sxm-80gb" if device == "A100" else None
        for op, frame in rows.groupby("op", sort=True):
            needed = ("M", "N", "K")[: {"matmul": 3, "gelu": 1}.get(str(op), 2)]
            yield from _part(
                frame, shelf, str(device), needed, str(op), _llmcompass_table,
                _LLMCOMPASS_US.get(str(op), 0.0), board,
            )  # fmt: skip


def _llmcompass_table(op: str, f: pd.DataFrame, chip: Chip) -> KernelTable | str:
    bits = _BITS.get(str(f["dtype"].iloc[0]), 16)
    m, n = integers(f, "M"), integers(f, "N")
    if op == "matmul":
        return fastest_gemm(m, n, integers(f, "K"), chip, bits=bits)
    if op == "gelu":
        return elementwise(m, 1, _GELU_OPS, _GELU_SPECIAL, bits)
    kernels = {"softmax": softmax, "layernorm": layer_norm}
    return kernels[op](m, n, bits) if op in kernels else f"op {op!r}: no kernels known"


def batched(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``neusight_h100_fp16_bmm``: the device is not a column, the collection's name has it."""
    frame = source.frame.assign(time_us=1e3 * numbers(source.frame, "latency_ms"))
    device = str(frame["device"].iloc[0]) if source.has("device") and len(frame) else "H100"
    yield from _part(frame, shelf, device, ("M", "N", "K"), "bmm", _batched_table, GAP_US["bmm"])


def _batched_table(op: str, f: pd.DataFrame, chip: Chip) -> KernelTable:
    m, n, k = (integers(f, c) for c in ("M", "N", "K"))
    return fastest_gemm(m, n, k, chip, batch=np.maximum(integers(f, "B", 1), 1), bits=16)


def deepbench(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``deepbench_gemm``: cuBLAS, back to back; the V100 is that of a DGX-1."""
    for (device, dtype), rows in source.frame.groupby(["device", "dtype"], sort=True):
        yield from _part(rows, shelf, str(device), ("m", "n", "k"), str(dtype), _deepbench_table)


def _deepbench_table(dtype: str, f: pd.DataFrame, chip: Chip) -> KernelTable | str:
    m, n, k = (integers(f, c) for c in ("m", "n", "k"))
    name = dtype.split("_")[0]
    if name not in _BITS:
        return f"dtype {dtype!r}: expected one of {', '.join(_BITS)}"
    # Column-major: C^T (n, m) is what the library makes row by row.
    tensor = "tensorcore" in dtype
    return fastest_gemm(n, m, k, chip, bits=_BITS[name], tensor_core=tensor)


def _part(
    frame: pd.DataFrame,
    shelf: Shelf,
    device: str,
    needed: tuple[str, ...],
    measure: str,
    table_of: TableOf,
    added_us: float = 0.0,
    board: str | None = None,
) -> Iterator[Finding]:
    chip, fine, skips = on_chip(shelf, device, frame, needed, board)
    yield from skips
    if chip is None or not len(fine):
        return
    table = table_of(measure, fine, chip)
    if isinstance(table, str):
        yield Skip(chip.name, len(fine), table)
        return
    yield Part(
        chip, table, numbers(fine, "time_us"), measure, added_us=added_us, split_us=OVERHEAD_US
    )
