"""Readers of GPU datasets that are spaces: many schedules of one problem on one GPU.

The GPU is in the file's name (``bh_conv_A100``), as is the size of the GEMM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.fidelity.data import Finding, MeasuredError, Part, Source, integers, numbers
from hwsim.fidelity.shelf import Shelf, on_chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.dedispersion import dedispersion
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.result import Failure
from hwsim.table import KernelTable

_GEMM = ("MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "VWM", "VWN")
_BLOCK = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y")
_STATUS = {"compile_failed": Failure.compile_error, "runtime_failed": Failure.launch_error}
_BOARDS = {"A100": "a100-pcie-40gb"}  # as the source's cache files name the device
_FILTER = 15  # of the older collections, which do not say
# Counters of the 2080 Ti by the simulation's name, where nothing spills; several add up.
_COUNTERS = {
    "fma_count": ("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",),
    "shared_wavefronts": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
    "dram_sectors": ("dram__sectors_read.sum", "dram__sectors_write.sum"),
    "registers": ("registers",),
}
_SPILLS = ("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "private_bytes")


def gemm(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``bh_gemm_fp32_<size>_<GPU>``: the sustained median, and the best at boost clock."""
    found = re.search(r"_(\d+)_(.+)$", source.name)
    if found is None:
        raise MeasuredError("the name gives no size and GPU, as in bh_gemm_fp32_4096_RTX_3090")
    size, columns = int(found[1]), (*_GEMM, "SA", "SB")
    yield from _space(
        source, shelf, found[2], _GEMM,
        lambda f: clblast_gemm({c: integers(f, c) for c in columns}, size, size, size),
    )  # fmt: skip


def convolution(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``bh_conv_<GPU>`` and ``bh_convold_<GPU>``, failures included."""

    def table(f: pd.DataFrame) -> KernelTable:
        return convolution_2d(
            *(integers(f, c) for c in _BLOCK),
            staged=integers(f, "use_shmem", 1),
            padded=integers(f, "use_padding"),
            read_only=integers(f, "read_only"),
            filter_size=_filter(f),
        )

    yield from _space(source, shelf, _device(source), _BLOCK, table)


def profiled_convolution(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``ktt_conv_<GPU>``: one profiled launch each, with hardware counters where there are any."""
    chip, frame, skips = on_chip(shelf, _device(source), source.frame, _BLOCK)
    yield from skips
    if chip is None or not len(frame):
        return
    table = convolution_2d(*(integers(frame, c) for c in _BLOCK), filter_size=_FILTER)
    failed = _failed(frame)
    measured = np.where(failed == 0, numbers(frame, "duration_us"), np.nan)
    yield Part(chip, table, measured, groups=_one(frame), failed=failed)
    spills = np.any([integers(frame, c) > 0 for c in _SPILLS], axis=0)
    plain = (failed == 0) & ~spills
    for counter, columns in _COUNTERS.items():
        if set(columns) <= set(frame.columns):
            real = np.sum([numbers(frame, c) for c in columns], axis=0)[plain]
            yield Part(chip, table.take_candidates(plain), real, counter, counter)


def dedispersion_space(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``bh_dedisp_<GPU>``."""

    def table(f: pd.DataFrame) -> KernelTable:
        block = [integers(f, c) for c in _BLOCK]
        return dedispersion(*block[:4], strided_x=integers(f, "tile_stride_x"))

    yield from _space(source, shelf, _device(source), _BLOCK, table)


def _space(
    source: Source,
    shelf: Shelf,
    device: str,
    needed: tuple[str, ...],
    table_of: Callable[[pd.DataFrame], KernelTable],
) -> Iterator[Finding]:
    """``median_ms`` against the chip as it is, ``min_ms`` against its unthrottled clock."""
    board = _BOARDS.get(device)
    chip, frame, skips = on_chip(shelf, device, source.frame, needed, board)
    yield from skips
    if chip is None or not len(frame):
        return
    failed = _failed(frame)
    table = table_of(frame)
    for measure, column, at in (
        ("latency", "median_ms", chip),
        ("latency_at_boost", "min_ms", _boost(chip)),
    ):
        if column in frame:
            measured = np.where(failed == 0, 1e3 * numbers(frame, column), np.nan)
            yield Part(at, table, measured, measure, groups=_one(frame), failed=failed)


def _boost(chip: Chip) -> Chip:
    if isinstance(chip, GpuChip):
        return msgspec.structs.replace(chip, sustained_share=1.0)
    return chip


def _failed(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Failures as measured; a collection that does not tell them apart says ``failed``."""
    failed = np.zeros(len(frame), dtype=np.int64)
    if "status" not in frame:
        return failed
    for status, failure in _STATUS.items():
        failed[np.asarray(frame["status"] == status)] = int(failure)
    failed[np.asarray(frame["status"] == "failed")] = int(Failure.launch_error)
    return failed


def _filter(frame: pd.DataFrame) -> int:
    sizes = set(integers(frame, "filter", _FILTER).tolist())
    if len(sizes) != 1:
        raise MeasuredError(f"filters of sizes {sorted(sizes)}: expected one size a file")
    return int(sizes.pop())


def _one(frame: pd.DataFrame) -> NDArray[np.int64]:
    return np.zeros(len(frame), dtype=np.int64)


def _device(source: Source) -> str:
    found = re.match(r"[a-z]+_[a-z]+_(.+)$", source.name)
    if found is None:
        raise MeasuredError("the name gives no GPU, as in bh_conv_A100")
    return found[1]
