"""Published GPU measurements as kernel tables, one file at a time.

The files are those of public collections, by name: ``bh_conv_*``, ``bh_convold_*`` and
``bh_gemm_*`` (AutoTuning benchmark hub), ``ktt_conv_*`` (Kernel Tuning Toolkit), ``neusight_*``,
``llmcompass_measured`` and ``deepbench_gemm``.  Rows of devices that no chip file describes, and of
kernels that no constructor covers, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hwsim.chips import load_chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.choice import fastest_library_gemm
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.gpu_sm.library import library_gemm
from hwsim.gpu_sm.rowwise import rowwise
from hwsim.table import KernelTable

Floats = NDArray[np.float64]
Frame = Any  # pandas.DataFrame, whose stubs are no dependency

CHIPS = {
    "A100": "a100-pcie-40gb", "A100-PCIE-40GB": "a100-pcie-40gb",
    "A100-PCIE-80GB": "a100-pcie-80gb", "A100-80GB-PCIe": "a100-pcie-80gb",
    "A4000": "rtx-a4000", "A6000": "rtx-a6000",
    "H100": "h100-sxm", "L4": "l4", "T4": "t4", "P100": "p100-sxm2", "V100": "v100-sxm2",
    "V100-PCIE-32GB": "v100-pcie", "2080Ti": "rtx-2080-ti", "RTX_2080_Ti": "rtx-2080-ti",
    "3090": "rtx-3090", "RTX_3090": "rtx-3090", "RTX_Titan": "titan-rtx",
    "RTX_3060_laptop": "rtx-3060-laptop",
}  # fmt: skip

# Microseconds of the framework's call around the kernel: the floors of the calibration rows.
HOST_US = {"linear": 50.0, "bmm": 31.0, "softmax": 32.0, "ln": 45.0, "add": 26.0}
# The same of LLMCompass, as its collectors state them.
_LLMCOMPASS_US = {"gelu": 47.0, "layernorm": 52.0, "softmax": 13.0, "matmul": 13.0}
_LEAST_US = 100.0  # matrix products below it are the framework's call, not the kernel


@dataclass(frozen=True)
class Published:
    """One measure of one dataset on one chip.

    ``measure`` is ``latency_us`` or a counter of the simulator; ``measured`` has shape ``(n,)``,
    NaN where the kernel did not run; ``host_us`` is inside the measured times; ``skipped`` counts
    rows left out.
    """

    dataset: str
    chip: str
    measure: str
    table: KernelTable
    measured: Floats
    host_us: float = 0.0
    skipped: int = 0


def read(path: str | Path) -> list[Published]:
    """What the file holds; empty where it is none of ours, or all of its devices are unknown."""
    stem = Path(path).name.split(".")[0]
    for prefix, reader in _READERS.items():
        if stem.startswith(prefix):
            return list(reader(pd.read_csv(path), stem, stem[len(prefix) :]))
    return []


def _convolution(frame: Frame, stem: str, device: str) -> Iterator[Published]:
    if device not in CHIPS:
        return
    table = convolution_2d(
        frame.block_size_x, frame.block_size_y, frame.tile_size_x, frame.tile_size_y,
        staged=frame.get("use_shmem", 1), padded=frame.get("use_padding", 0),
        read_only=frame.read_only, filter_size=int(frame.get("filter", pd.Series([15]))[0]),
    )  # fmt: skip
    ran = (frame.status == "ok").to_numpy()
    columns = {"median_ms": 1e3, "duration_us": 1.0}
    scale, times = next((s, frame[c]) for c, s in columns.items() if c in frame)
    measured = np.where(ran, times.to_numpy(float) * scale, np.nan)
    yield Published(stem, CHIPS[device], "latency_us", table, measured)
    if _COUNTERS["fma_count"][0] in frame:
        yield from _counters(frame, stem, CHIPS[device], table, ran)


_LOCAL = (
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
)
_WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
_COUNTERS = {
    "fma_count": ("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",),
    "shared_wavefronts": (f"{_WAVES}ld.sum", f"{_WAVES}st.sum"),
    "dram_sectors": ("dram__sectors_read.sum", "dram__sectors_write.sum"),
}  # fmt: skip


def _counters(
    frame: Frame, stem: str, chip: str, table: KernelTable, ran: NDArray[np.bool_]
) -> Iterator[Published]:
    """Hardware counters of the kernels that do not spill."""
    keep = ran & (frame[list(_LOCAL)].sum(axis=1) == 0).to_numpy()
    for measure, names in _COUNTERS.items():
        measured = frame[list(names)].sum(axis=1).to_numpy(float)[keep]
        skipped = int((~keep).sum())
        yield Published(stem, chip, measure, table.take(keep), measured, skipped=skipped)


def _clblast(frame: Frame, stem: str, device: str) -> Iterator[Published]:
    if device in CHIPS:
        table = clblast_gemm({name: frame[name] for name in frame.columns[:14]})
        measured = frame.median_ms.to_numpy(float) * 1e3
        yield Published(stem, CHIPS[device], "latency_us", table, measured)


def _by_device(frame: Frame, column: str = "device") -> Iterator[tuple[str, Frame]]:
    for device, rows in frame.groupby(column):
        if device in CHIPS:
            yield CHIPS[device], rows


def _products(frame: Frame, stem: str, _: str) -> Iterator[Published]:
    """Linear layers and batched products: cuBLAS kernels with the tile in their name."""
    for chip, rows in _by_device(frame):
        used = rows[(rows.latency_ms * 1e3 >= _LEAST_US) & (rows.split_k > 0)]
        linear = rows.op.iloc[0] == "linear"
        table = library_gemm(
            used.M, used.N, used.K, used.tile_m, used.tile_n, used.block, batch=used.B,
            slices=np.where(used.kernel_name.str.contains("sliced1x4"), 4, 1),
            split_k=used.split_k, fast_m=used.family == "xmma", bias=linear, k_contiguous=linear,
        )  # fmt: skip
        measured = used.latency_ms.to_numpy(float) * 1e3
        host, skipped = HOST_US[rows.op.iloc[0]], len(rows) - len(used)
        yield Published(stem, chip, "latency_us", table, measured, host, skipped)


def _vectors(frame: Frame, stem: str, _: str) -> Iterator[Published]:
    for chip, rows in _by_device(frame):
        for op, some in rows.groupby("op"):
            measured = some.latency_ms.to_numpy(float) * 1e3
            table = _VECTOR_KERNELS[op](some)
            yield Published(f"{stem}_{op}", chip, "latency_us", table, measured, HOST_US[op])


def _softmax(rows: Frame) -> KernelTable:
    """PyTorch: rows of up to 1024 stay in a warp's registers, longer ones are read three times."""
    warp = rows.kernel_name.str.contains("warp").to_numpy()
    together = np.maximum(np.round(rows.rows / rows.grid_x), 1)
    return rowwise(
        rows.rows, rows.cols, rows.block_x * rows.block_y,
        rows_per_block=np.where(warp, together, 1), reads=np.where(warp, 1, 3),
        lanes=np.where(warp, 1, 4), alu_ops=8, special_ops=2, thread_ops=150,
    )  # fmt: skip


def _layer_norm(rows: Frame) -> KernelTable:
    threads = rows.block_x * rows.block_y
    return rowwise(
        rows.rows, rows.cols, threads, reads=2, alu_ops=15, special_ops=1, thread_ops=300
    )


def _add(rows: Frame) -> KernelTable:
    """Four elements a thread, 128 threads a block, whatever the shape."""
    return rowwise(np.ceil(rows.rows * rows.cols / 512), 512, 128, inputs=2)


_VECTOR_KERNELS: dict[str, Callable[[Frame], KernelTable]] = {
    "softmax": _softmax, "ln": _layer_norm, "add": _add,
}  # fmt: skip


def _llmcompass(frame: Frame, stem: str, _: str) -> Iterator[Published]:
    chip = "a100-sxm-80gb"  # the A100 of this collection has 80 GB
    for op, rows in frame[frame.device == "A100"].groupby("op"):
        measured = rows.latency_ms.to_numpy(float) * 1e3
        table = _llmcompass_table(op, rows, _gpu(chip))
        yield Published(f"{stem}_{op}", chip, "latency_us", table, measured, _LLMCOMPASS_US[op])


def _llmcompass_table(op: str, rows: Frame, chip: GpuChip) -> KernelTable:
    if op == "matmul":
        return fastest_library_gemm(rows.M, rows.N, rows.K, chip, bits=16, tensor_core=True)
    if op == "gelu":
        return rowwise(
            np.ceil(rows.M / 1024), 1024, 128, lanes=8, alu_ops=10, special_ops=2, bits=16
        )
    short = (rows.N <= 1024).to_numpy() & (op == "softmax")
    threads = np.where(short | (op == "layernorm"), 128, 512)
    return rowwise(
        rows.M, rows.N, threads, rows_per_block=np.where(short, 4, 1),
        reads=np.where(short, 1, 3 if op == "softmax" else 2), lanes=np.where(short, 1, 8),
        alu_ops=8, special_ops=2, thread_ops=150, bits=16,
    )  # fmt: skip


def _deepbench(frame: Frame, stem: str, _: str) -> Iterator[Published]:
    kinds = {
        "fp32": (32, False),
        "fp16_tensorcore_fp32acc": (16, True),
        "int8_int32acc": (8, False),
    }
    for chip, every in _by_device(frame):
        for dtype, rows in every.groupby("dtype"):
            if dtype not in kinds:
                continue
            bits, tensor = kinds[dtype]
            table = fastest_library_gemm(
                rows.m, rows.n, rows.k, _gpu(chip), bits=bits, tensor_core=tensor
            )
            measured = rows.time_us.to_numpy(float)
            yield Published(f"{stem}_{dtype}", chip, "latency_us", table, measured)


def _gpu(name: str) -> GpuChip:
    chip = load_chip(name)
    assert isinstance(chip, GpuChip)
    return chip


_READERS: dict[str, Callable[[Frame, str, str], Iterator[Published]]] = {
    "bh_convold_": _convolution,
    "bh_conv_": _convolution,
    "ktt_conv_": _convolution,
    "bh_gemm_fp32_4096_": _clblast,
    "neusight_linear": _products,
    "neusight_bmm": _products,
    "neusight_vec": _vectors,
    "llmcompass_measured": _llmcompass,
    "deepbench_gemm": _deepbench,
}
