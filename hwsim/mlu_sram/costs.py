"""What one block of a kernel costs on an MLU: the description that both models share.

Sources: rates, granules and latencies are the chip file's; the streams that may overlap (IO, MV,
compute) are those of the mlu-ops guide.  What no source gives is a parameter of the chip file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.flows import Flow, gdram_flow, spilled_flow
from hwsim.result import FloatColumn
from hwsim.rows import Rows

BoolColumn = NDArray[np.bool_]


@dataclass(frozen=True)
class BlockCosts:
    """One block's work; every column is ``(n,)``, times are totals over the block's life.

    ``far`` fills the cluster's SRAM, ``near_a`` NRAM and ``near_b`` WRAM from GDRAM, ``store``
    writes the results; the ``mv`` times move SRAM tiles into NRAM and WRAM.  ``far_steps``,
    ``near_steps`` and ``out_steps`` say in how many pieces each of them comes, and the
    ``*_overlap`` flags whether the next piece is fetched while this one is used.
    """

    far: Flow
    near_a: Flow
    near_b: Flow
    store: Flow
    mv_a_us: FloatColumn
    mv_b_us: FloatColumn
    matmul_us: FloatColumn
    vector_us: FloatColumn
    scalar_us: FloatColumn
    far_steps: FloatColumn
    near_steps: FloatColumn
    out_steps: FloatColumn
    far_overlap: BoolColumn
    a_overlap: BoolColumn
    b_overlap: BoolColumn
    spilled: BoolColumn
    spill_us: FloatColumn  # bus time that only the spill causes

    @property
    def compute_us(self) -> FloatColumn:
        """Matrix, vector and scalar work of the block, which share one instruction stream."""
        return self.matmul_us + self.vector_us + self.scalar_us


def block_costs(rows: Rows, chip: MluChip) -> BlockCosts:
    """Costs of one block of every row."""
    spilled = sram_need_bytes(rows) > chip.sram_bytes
    cores = rows["cores_per_cluster"]
    near_a = gdram_flow(rows, "a_gdram_nram", chip) + gdram_flow(rows, "x_gdram_nram", chip)
    near_b = gdram_flow(rows, "b_gdram_wram", chip)
    store = gdram_flow(rows, "c_nram_gdram", chip, write=True)
    far = gdram_flow(rows, "a_gdram_sram", chip, shared=cores)
    far = far + gdram_flow(rows, "b_gdram_sram", chip, shared=cores)
    back_a, back_b, written = _spill(rows, chip, spilled)
    near_steps, far_steps, out_steps = _steps(rows)
    matmul_us, vector_us, scalar_us = _compute(rows, chip, near_steps)
    double = {s: rows[f"{s}_buffers"] >= 2 for s in ("sram", "nram", "wram")}
    return BlockCosts(
        far=far + written,
        near_a=near_a + back_a,
        near_b=near_b + back_b,
        store=store,
        mv_a_us=_mv_us(rows, "a_sram_nram", chip),
        mv_b_us=_mv_us(rows, "b_sram_wram", chip),
        matmul_us=matmul_us,
        vector_us=vector_us,
        scalar_us=scalar_us,
        far_steps=far_steps,
        near_steps=near_steps,
        out_steps=out_steps,
        far_overlap=double["sram"] & ~spilled & (far.count > 0),
        a_overlap=double["nram"],
        b_overlap=double["wram"],
        spilled=spilled,
        spill_us=back_a.bus_us + back_b.bus_us + written.bus_us,
    )


def sram_need_bytes(rows: Rows) -> FloatColumn:
    """SRAM that a cluster needs, ``(n,)``: every copy of its staged tiles."""
    return rows["sram_bytes"] * np.maximum(rows["sram_buffers"], 1.0)


def _spill(rows: Rows, chip: MluChip, spilled: BoolColumn) -> tuple[Flow, Flow, Flow]:
    """A spilled tile is written to DDR once and read back by each core instead of moved."""
    a, b = (spilled_flow(rows, s, chip, write=False) for s in ("a_sram_nram", "b_sram_wram"))
    written = spilled_flow(rows, "a_gdram_sram", chip, write=True)
    written = written + spilled_flow(rows, "b_gdram_sram", chip, write=True)
    return a.where(spilled), b.where(spilled), written.where(spilled)


def _steps(rows: Rows) -> tuple[FloatColumn, FloatColumn, FloatColumn]:
    """Pieces in which tiles reach the cores, the SRAM, and in which results leave: at least 1."""
    far = np.maximum(rows["a_gdram_sram_count"], rows["b_gdram_sram_count"])
    out = np.maximum(rows["c_nram_gdram_count"], 1.0)
    near = np.maximum(rows["k_steps"] * rows["out_tiles"], np.maximum(far, out))
    for stream in ("a_sram_nram", "b_sram_wram", "a_gdram_nram", "b_gdram_wram", "x_gdram_nram"):
        near = np.maximum(near, rows[f"{stream}_count"])
    return near, np.maximum(far, 1.0), out


def _mv_us(rows: Rows, stream: str, chip: MluChip) -> FloatColumn:
    cores = np.maximum(rows["cores_per_cluster"], 1.0)
    rate = np.minimum(chip.mv_bytes_per_cycle, chip.sram_bytes_per_cycle / cores)
    count = rows[f"{stream}_count"]
    cycles: FloatColumn = count * (chip.mv_latency_cycles + rows[f"{stream}_bytes"] / rate)
    return cycles / chip.clock_mhz


def _compute(
    rows: Rows, chip: MluChip, near_steps: FloatColumn
) -> tuple[FloatColumn, FloatColumn, FloatColumn]:
    """Matrix, vector and scalar time of one block; work that no instruction claims is scalar."""
    blocks = np.maximum(rows["clusters"] * rows["cores_per_cluster"], 1.0)
    on_matrix, on_vector = rows["mm_count"] > 0, rows["vec_count"] > 0
    macs = rows["macs"] / blocks
    loose_macs = np.where(on_matrix, 0.0, macs)
    special = rows["special_ops"] / blocks
    simple = rows["alu_ops"] / blocks + special
    matrix = _matmul_cycles(rows, chip, np.where(on_matrix, macs, 0.0))
    vector = _vector_cycles(rows, chip, simple + loose_macs)
    slow = special * _element_bytes(rows) / chip.vector_bytes_per_cycle
    vector = vector + slow * (chip.special_slowdown - 1.0)
    access, op = chip.scalar_access_cycles, chip.scalar_op_cycles
    scalar = loose_macs * 2 * (access + op) + simple * (3 * access + op)
    scalar = scalar + special * op * (chip.special_slowdown - 1.0)
    scalar = np.where(on_vector, 0.0, scalar) + near_steps * chip.step_cycles
    vector = np.where(on_vector, vector, 0.0) + _rearrange_cycles(rows, chip)
    mhz = chip.clock_mhz
    return matrix / mhz, vector / mhz, scalar / mhz


def _matmul_cycles(rows: Rows, chip: MluChip, macs: FloatColumn) -> FloatColumn:
    unit = chip.matmul_multiple
    n, k = (np.ceil(rows[f"mm_{axis}"] / unit) * unit for axis in "nk")
    rate = mac_rate(rows, chip)
    issued = rows["mm_count"] * (chip.matmul_start_cycles + rows["mm_m"] * n * k / rate)
    return np.asarray(np.maximum(issued, macs / rate))


def mac_rate(rows: Rows, chip: MluChip) -> FloatColumn:
    """MACs a cycle of one core for the width of each row's inputs, ``(n,)``."""
    bits, rates = rows["in_bits"], chip.macs_per_cycle
    wide = np.where(bits <= 16, float(rates.float16), float(rates.float32))
    return np.where(bits <= 8, float(rates.int8), wide)


def _vector_cycles(rows: Rows, chip: MluChip, element_ops: FloatColumn) -> FloatColumn:
    """Passes run by run, but never faster than the element operations at the full width."""
    size, run = rows["vec_bytes"], rows["vec_run_bytes"]
    run = np.where((run <= 0) | (run > size), size, run)
    instructions = np.ceil(size / np.maximum(run, 1e-9))
    width = chip.vector_bytes_per_cycle
    one = instructions * (chip.vector_start_cycles + np.ceil(run / width))
    at_width = element_ops * _element_bytes(rows) / width
    return np.asarray(np.maximum(rows["vec_count"] * one, at_width))


def _rearrange_cycles(rows: Rows, chip: MluChip) -> FloatColumn:
    width = chip.vector_bytes_per_cycle / chip.rearrange_slowdown
    one = chip.vector_start_cycles + rows["rearrange_bytes"] / width
    return rows["rearrange_count"] * one


def _element_bytes(rows: Rows) -> FloatColumn:
    return rows["in_bits"] / 8.0
