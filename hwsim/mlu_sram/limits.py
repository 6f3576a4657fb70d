"""What an MLU refuses: capacities that the compiler checks and launches that cannot be placed."""

from __future__ import annotations

import numpy as np

from hwsim.columns import MLU_STREAMS
from hwsim.farm import compile_time
from hwsim.footprint import kept_bytes
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import sram_need_bytes
from hwsim.mlu_sram.flows import column
from hwsim.result import Failure, FloatColumn, Limit
from hwsim.table import KernelTable

_WIDEST_BITS = 32.0  # inputs of the matrix unit


def limits(table: KernelTable, chip: MluChip) -> tuple[Limit, ...]:
    """Every limit with need and have, ``(n,)`` each, in the order in which they are checked.

    SRAM is a limit only where the chip's ``spill`` policy is ``"error"``.
    """
    compile_error, launch_error = Failure.compile_error, Failure.launch_error
    cores, clusters = column(table, "cores_per_cluster"), column(table, "clusters")
    blocks = np.minimum(np.minimum(cores, clusters), column(table, "blocks"))
    bits = np.where(column(table, "mm_count") > 0, column(table, "in_bits"), 0.0)
    off_chip = [stream for stream in MLU_STREAMS if "gdram" in stream]
    tensors = np.sum([column(table, f"{stream}_unique_bytes") for stream in off_chip], axis=0)
    out = [
        _limit("nram_capacity", compile_error, nram_need_bytes(table), chip.nram_bytes, "B"),
        _limit("wram_capacity", compile_error, _wram_need_bytes(table), chip.wram_bytes, "B"),
        _limit("matmul_input_width", compile_error, bits, _WIDEST_BITS, "bits"),
    ]
    if chip.spill == "error":
        need = sram_need_bytes(table)
        out.append(_limit("sram_capacity", compile_error, need, chip.sram_bytes, "B"))
    out += [
        compile_time(column(table, "unroll"), chip.bench),
        _limit("cluster_cores", launch_error, cores, chip.cores_per_cluster, "cores"),
        Limit("grid_blocks", launch_error, np.ones(len(table)), blocks, "blocks"),
        _limit("ddr_capacity", launch_error, tensors, chip.ddr_gib * 2.0**30, "B"),
    ]
    return tuple(out)


def nram_need_bytes(table: KernelTable) -> FloatColumn:
    """NRAM that a core needs, ``(n,)``: every buffer once, the staged inputs in every copy."""
    if "nram_staged_bytes" in table.columns:
        return kept_bytes(table, "nram")
    once = column(table, "nram_bytes")
    staged = column(table, "a_sram_nram_bytes") + column(table, "a_gdram_nram_bytes")
    staged = np.minimum(staged + column(table, "x_gdram_nram_bytes"), once)
    return once + np.maximum(column(table, "nram_buffers") - 1.0, 0.0) * staged


def _wram_need_bytes(table: KernelTable) -> FloatColumn:
    return kept_bytes(table, "wram")


def _limit(name: str, failure: Failure, need: FloatColumn, have: float, unit: str) -> Limit:
    return Limit(name, failure, need, np.full(len(need), float(have)), unit)
