"""From :class:`~hwsim.mlu_sram.tiles.MatmulTiles` to the rows of a kernel table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hwsim.columns import columns_of
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable

Row = dict[str, float]
_REDUCE_ELEMENTS = 65_536  # partial results that the split-K reduction adds in one piece


def matmul_table(tiles: Sequence[MatmulTiles], chip: MluChip) -> KernelTable:
    """One candidate an entry; a prepacked or K-split matmul has a row for each of its kernels.

    ``chip`` says how many cores the launched tasks are spread over and how many share an SRAM.
    """
    rows: list[Row] = []
    for candidate, one in enumerate(tiles):
        kernels = [_matmul_row(one, chip)]
        if one.b_prepacked:
            kernels.insert(0, _prepack_row(one, chip))
        if one.split_k > 1:
            kernels.append(_reduce_row(one, chip))
        rows += [{"candidate": candidate} | kernel for kernel in kernels]
    return table_of(rows)


def table_of(rows: Sequence[Row]) -> KernelTable:
    """Rows that name some of the columns as a table; the others have their defaults."""
    schema = columns_of("mlu_sram")
    names = sorted({name for row in rows for name in row})
    columns = {n: np.array([row.get(n, schema[n].default) for row in rows]) for n in names}
    return KernelTable("mlu_sram", len(rows), columns)


def _matmul_row(t: MatmulTiles, chip: MluChip) -> Row:
    launch = launch_of(t.tasks, t.launch_tasks, chip, union=t.union)
    per_core, cores = launch["out_tiles"], int(launch["cores_per_cluster"])
    b_loads = math.ceil(per_core / t.row_groups) if t.k_steps == 1 else per_core * t.k_steps
    a_loads = per_core * t.k_steps * t.row_blocks
    edges = t.m * t.n / (t.row_groups * t.row_blocks * t.tile_m * t.columns * t.tile_n)
    launch["work_share"] *= min(edges, 1.0)
    macs = float(t.tile_m * t.tile_n * t.step_k) * t.k_steps * t.row_blocks * t.tasks
    useful = float(t.m) * t.n * t.k * t.batch * (t.tasks * t.k_share / t.all_tasks)
    return {
        **launch,
        "flops": 2 * useful,
        "macs": macs,
        "macs_useful": min(useful, macs),
        "in_bits": t.in_bits,
        "acc_bits": t.acc_bits,
        "out_bits": t.out_bits,
        "tile_m": t.tile_m * t.row_blocks,
        "tile_n": t.tile_n,
        "tile_k": t.step_k,
        "grid_m": t.row_groups,
        "grid_n": t.columns,
        "grid_batch": t.batch,
        "k_steps": t.k_steps,
        "reduce_length": t.k,
        "mm_count": a_loads,
        "mm_m": t.tile_m,
        "mm_n": t.tile_n,
        "mm_k": t.step_k,
        **_a_streams(t, a_loads),
        **_b_streams(t, b_loads, cores),
        **_c_stream(t, per_core * t.row_blocks),
        **_on_chip(t, a_loads, b_loads),
        **_footprint(t, cores),
    }


def _a_streams(t: MatmulTiles, count: float) -> Row:
    rows, run, pitch = (t.step_k, t.tile_m, t.m) if t.a_transposed else (t.tile_m, t.step_k, t.k)
    name = "a_gdram_sram" if t.sram_a else "a_gdram_nram"
    outer = _matrix(name, count, rows, run, pitch, t)
    outer[f"{name}_unique_bytes"] = t.batch * t.m * t.k * t.in_bits / 8
    if not t.sram_a:
        return outer
    size = rows * run * t.in_bits / 8
    return {**outer, "a_sram_nram_count": count, "a_sram_nram_bytes": size}


def _b_streams(t: MatmulTiles, count: float, cores: int) -> Row:
    rows, run, pitch = (t.tile_n, t.step_k, t.k) if t.b_transposed else (t.step_k, t.tile_n, t.n)
    if t.b_prepacked:
        rows, run, pitch = 1, t.step_k * t.tile_n, t.step_k * t.tile_n
    name = "b_gdram_sram" if t.sram_b else "b_gdram_wram"
    outer = _matrix(name, count, rows, run, pitch, t)
    outer[f"{name}_unique_bytes"] = t.batch * t.k * t.n * t.in_bits / 8
    if not t.sram_b:
        return outer
    outer["b_gdram_sram_bytes"] /= cores  # each core fetches its share of the common tile
    size = t.step_k * t.tile_n * t.in_bits / 8
    return {**outer, "b_sram_wram_count": count, "b_sram_wram_bytes": size}


def _c_stream(t: MatmulTiles, count: float) -> Row:
    bits = t.out_bits if t.split_k == 1 else t.acc_bits
    stream = stream_of("c_nram_gdram", count, t.tile_m, min(t.tile_n, t.n), t.n, bits)
    return {**stream, "c_nram_gdram_unique_bytes": t.batch * t.m * t.n * t.split_k * bits / 8}


def _matrix(name: str, count: float, rows: int, run: int, pitch: int, t: MatmulTiles) -> Row:
    return stream_of(name, count, rows, min(run, pitch), pitch, t.in_bits)


def stream_of(name: str, count: float, rows: int, run: int, pitch: int, bits: int) -> Row:
    """``count`` tiles of ``rows`` runs of ``run`` elements; whole rows make one run."""
    size = rows * run * bits / 8
    step = math.gcd(run, pitch) * bits // 8
    return {
        f"{name}_count": count,
        f"{name}_bytes": size,
        f"{name}_run_bytes": size if run == pitch else run * bits / 8,
        f"{name}_align_bytes": max(step & -step, 1),
    }


def _on_chip(t: MatmulTiles, a_loads: float, b_loads: float) -> Row:
    """Vector adds into the accumulators, and the passes that bring A and B into order.

    B needs a transpose unless it is stored ``[n, k]``, the filter reshape, and the copy to WRAM.
    """
    b_passes = 0 if t.b_prepacked else (2 if t.b_transposed else 3)
    passes = a_loads * t.a_transposed + b_loads * b_passes
    elements = t.step_k * (a_loads * t.a_transposed * t.tile_m + b_loads * b_passes * t.tile_n)
    return {
        "vec_count": a_loads if t.k_steps > 1 else 0,
        "vec_bytes": t.tile_m * t.tile_n * t.acc_bits / 8,
        "rearrange_count": passes,
        "rearrange_bytes": elements * t.in_bits / 8 / max(passes, 1),
    }


def _footprint(t: MatmulTiles, cores: int) -> Row:
    """Buffers of a core and of its cluster.

    The B tile is prepared where the partial product of a step comes to lie afterwards; both copies
    of a double-buffered C tile are buffers of their own.
    """
    a, b, c = t.tile_m * t.step_k, t.step_k * t.tile_n, t.tile_m * t.tile_n
    in_bytes, acc_bytes = t.in_bits / 8, t.acc_bits / 8
    partial = c * acc_bytes if t.k_steps > 1 else 0.0
    prepared = 0.0 if t.b_prepacked else 2 * b * in_bytes
    copies = 2 if t.double_buffer else 1
    results = c * acc_bytes * (t.row_blocks if t.k_steps > 1 else copies)
    return {
        "nram_bytes": results + max(partial, prepared) + a * in_bytes * (1 + t.a_transposed),
        "nram_buffers": copies,
        "wram_bytes": b * in_bytes,
        "sram_bytes": (t.sram_a * cores * a + t.sram_b * b) * in_bytes,
        "sram_buffers": copies,
    }


def _prepack_row(t: MatmulTiles, chip: MluChip) -> Row:
    """The kernel that transposes and reshapes B once, tile by tile."""
    count = math.ceil(t.k / t.step_k) * t.columns * t.batch
    launch = launch_of(count, t.prepack_tasks, chip, union=False)
    rows, run, pitch = (t.tile_n, t.step_k, t.k) if t.b_transposed else (t.step_k, t.tile_n, t.n)
    size = t.step_k * t.tile_n * t.in_bits / 8
    return {
        **launch,
        "in_bits": t.in_bits,
        "out_bits": t.in_bits,
        **_matrix("x_gdram_nram", launch["out_tiles"], rows, run, pitch, t),
        **stream_of("c_nram_gdram", launch["out_tiles"], 1, rows * run, rows * run, t.in_bits),
        "rearrange_count": launch["out_tiles"] * (1 if t.b_transposed else 2),
        "rearrange_bytes": size,
        "nram_bytes": 2 * size,
    }


def _reduce_row(t: MatmulTiles, chip: MluChip) -> Row:
    """The kernel that adds the ``split_k`` partial results of every element of C."""
    elements = t.batch * t.m * t.n
    piece = min(math.ceil(elements / chip.cores), _REDUCE_ELEMENTS)
    launch = launch_of(math.ceil(elements / piece), 0, chip, union=False)
    pieces, size = launch["out_tiles"], piece * t.acc_bits / 8
    return {
        **launch,
        "in_bits": t.acc_bits,
        "out_bits": t.out_bits,
        "alu_ops": float(elements) * (t.split_k - 1),
        **stream_of("x_gdram_nram", pieces * t.split_k, 1, piece, piece, t.acc_bits),
        **stream_of("c_nram_gdram", pieces, 1, piece, piece, t.out_bits),
        "vec_count": pieces * (t.split_k - 1),
        "vec_bytes": size,
        "nram_bytes": 2 * size,
    }


def launch_of(work: int, launched: int, chip: MluChip, *, union: bool) -> Row:
    """Spread ``work`` pieces over the launched tasks, and these over the cores.

    Tasks beyond the cores run as cores become free, which for the busiest core is as if it had
    taken their pieces itself; the row describes that core (exact where the cores divide the tasks).
    """
    launched = launched or chip.cores
    each, rest = divmod(work, launched)
    waves = math.ceil(launched / chip.cores)
    busiest = waves * each + math.ceil(rest / chip.cores)
    used = min(launched, chip.cores)
    cores = min(chip.cores_per_cluster, used) if union else 1
    clusters = math.ceil(used / cores)
    return {
        "clusters": clusters,
        "cores_per_cluster": cores,
        "blocks": clusters * cores,
        "out_tiles": busiest,
        "work_share": min(work / (clusters * cores * busiest), 1.0),
    }
