"""What an MLU refuses: capacities that the compiler checks and launches that cannot be placed."""

from __future__ import annotations

import numpy as np

from hwsim.columns import MLU_STREAMS
from hwsim.farm import compile_time
from hwsim.footprint import kept_bytes
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import sram_need_bytes
from hwsim.result import Failure, FloatColumn, Limit
from hwsim.rows import Rows

_WIDEST_BITS = 32.0  # inputs of the matrix unit


def limits(rows: Rows, chip: MluChip) -> tuple[Limit, ...]:
    """Every limit with need and have, ``(n,)`` each, in the order in which they are checked.

    SRAM is a limit only where the chip's ``spill`` policy is ``"error"``.
    """
    compile_error, launch_error = Failure.compile_error, Failure.launch_error
    cores, clusters = rows["cores_per_cluster"], rows["clusters"]
    blocks = np.minimum(np.minimum(cores, clusters), rows["blocks"])
    bits = np.where(rows["mm_count"] > 0, rows["in_bits"], 0.0)
    off_chip = [stream for stream in MLU_STREAMS if "gdram" in stream]
    tensors = np.asarray(sum(rows[f"{stream}_unique_bytes"] for stream in off_chip))
    out = [
        _limit("nram_capacity", compile_error, nram_need_bytes(rows), chip.nram_bytes, "B"),
        _limit("wram_capacity", compile_error, _wram_need_bytes(rows), chip.wram_bytes, "B"),
        _limit("matmul_input_width", compile_error, bits, _WIDEST_BITS, "bits"),
    ]
    if chip.spill == "error":
        need = sram_need_bytes(rows)
        out.append(_limit("sram_capacity", compile_error, need, chip.sram_bytes, "B"))
    out += [
        compile_time(rows["unroll"], chip.bench),
        _limit("cluster_cores", launch_error, cores, chip.cores_per_cluster, "cores"),
        Limit("grid_blocks", launch_error, np.ones(1), blocks, "blocks"),
        _limit("ddr_capacity", launch_error, tensors, chip.ddr_gib * 2.0**30, "B"),
    ]
    return tuple(out)


def nram_need_bytes(rows: Rows) -> FloatColumn:
    """NRAM that a core needs, ``(n,)``: every buffer once, the staged inputs in every copy."""
    if "nram_staged_bytes" in rows.columns:
        return kept_bytes(rows, "nram")
    once = rows["nram_bytes"]
    staged = rows["a_sram_nram_bytes"] + rows["a_gdram_nram_bytes"]
    staged = np.minimum(staged + rows["x_gdram_nram_bytes"], once)
    return once + np.maximum(rows["nram_buffers"] - 1.0, 0.0) * staged


def _wram_need_bytes(rows: Rows) -> FloatColumn:
    return kept_bytes(rows, "wram")


def _limit(name: str, failure: Failure, need: FloatColumn, have: float, unit: str) -> Limit:
    return Limit(name, failure, need, np.array([float(have)]), unit)
