"""Tables of scratchpad machines, from nests made by hand: every number is worked out here."""

from dataclasses import replace

import numpy as np
import pytest

from tuner.nest import Access, Buffer, Digit, Nest, Ops, Split, Statement
from tuner.summary import kernel_table


def col(*values):
    return np.array(values, dtype=np.int64)


def digit(name, extent, kind="serial", reduction=False):
    return Digit(name, kind, col(extent), reduction)


def access(buffer, *dims, extent=()):
    """``dims``: digit name -> coefficient for each dimension."""
    columns = tuple({d: col(c) for d, c in dim.items()} for dim in dims)
    sizes = extent or (1,) * len(dims)
    return Access(buffer, columns, tuple(col(e) for e in sizes))


def buffer(name, scope, dtype, *shape):
    return Buffer(name, scope, dtype, tuple(col(e) for e in shape))


# C[64, 96] += A[64, 128] B[128, 96] in float16: 2 blocks of rows, 3 turns of columns, 4 steps of 32
# through the outer memory, one instruction for 32 x 32 x 32.
BLOCK = digit("m0", 2, "blockIdx.x")
TURN, STEP = digit("j1", 3), digit("k0", 4, reduction=True)
INNER = (digit("i3", 2), digit("j3", 2), digit("k2", 2, reduction=True))
ROWS, COLUMNS, DEPTH = {"m0": 32}, {"j1": 32}, {"k0": 32}


def staged(name, source, target, rows, columns, own_rows, own_columns):
    own = (digit(f"{name}0", own_rows), digit(f"{name}1", own_columns))
    dims = ({**rows, f"{name}0": 1}, {**columns, f"{name}1": 1})
    return Statement(
        name, "copy", (BLOCK, TURN, STEP, *own), (access(source, *dims),), access(target, *dims)
    )


def gemm(outer, left, right, acc, copies=1):
    mac = Statement(
        "mac",
        "compute",
        (BLOCK, TURN, STEP, *INNER),
        (
            access("A_near", {**ROWS, "i3": 16}, {**DEPTH, "k2": 16}, extent=(16, 16)),
            access("B_near", {**DEPTH, "k2": 16}, {**COLUMNS, "j3": 16}, extent=(16, 16)),
        ),
        access("C_near", {**ROWS, "i3": 16}, {**COLUMNS, "j3": 16}, extent=(16, 16)),
        Ops(macs=16**3),
        intrin=(16, 16, 16),
    )
    out_own = (digit("o0", 32), digit("o1", 32))
    out_dims = ({**ROWS, "o0": 1}, {**COLUMNS, "o1": 1})
    statements = (
        replace(staged("sa", "A", "A_far", ROWS, DEPTH, 32, 32), stages=col(copies)),
        staged("sb", "B", "B_far", DEPTH, COLUMNS, 32, 32),
        staged("la", "A_far", "A_near", ROWS, DEPTH, 32, 32),
        staged("lb", "B_far", "B_near", DEPTH, COLUMNS, 32, 32),
        mac,
        Statement(
            "out",
            "copy",
            (BLOCK, TURN, *out_own),
            (access("C_near", *out_dims),),
            access("C", *out_dims),
        ),
    )
    buffers = (
        buffer("A", "global", "float16", 64, 128),
        buffer("B", "global", "float16", 128, 96),
        buffer("C", "global", "float32", 64, 96),
        buffer("A_far", outer, "float16", 32, 32),
        buffer("B_far", outer, "float16", 32, 32),
        buffer("A_near", left, "float16", 32, 32),
        buffer("B_near", right, "float16", 32, 32),
        buffer("C_near", acc, "float32", 32, 32),
    )
    useful = 64 * 96 * 128.0
    return Nest(1, (statements,), {b.name: b for b in buffers}, col(0), 2 * useful, useful)


def only_row(nest, backend):
    table = kernel_table(nest, backend)
    assert len(table) == 1
    return table.row(0)


def test_ascend_gemm():
    row = only_row(gemm("shared.l1", "local.l0a", "local.l0b", "local.l0c", 2), "ascend_cube")
    expected = {
        "macs": 64 * 96 * 128, "macs_useful": 64 * 96 * 128, "blocks": 2,
        "tile_m": 32, "tile_n": 32, "tile_k": 32, "grid_m": 2, "grid_n": 1,
        "out_tiles": 3, "k_steps": 4, "reduce_length": 128, "reduce_inner": 32,
        "mm_count": 12, "mm_m": 32, "mm_n": 32, "mm_k": 32,
        "a_gm_l1_count": 12, "a_gm_l1_bytes": 2048, "a_gm_l1_run_bytes": 64,
        "a_gm_l1_align_bytes": 64, "a_gm_l1_unique_bytes": 64 * 128 * 2,
        "b_gm_l1_run_bytes": 64, "b_gm_l1_unique_bytes": 128 * 96 * 2,
        "a_l1_l0a_count": 12, "a_l1_l0a_bytes": 2048,
        "c_l0c_gm_count": 3, "c_l0c_gm_bytes": 4096, "c_l0c_gm_run_bytes": 128,
        "c_l0c_gm_unique_bytes": 64 * 96 * 4,
        "l1_bytes": 4096, "l1_staged_bytes": 2048, "l1_buffers": 2,
        "l0a_bytes": 2048, "l0c_bytes": 4096, "vec_count": 0,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_mlu_gemm_adds_partial_products_and_reshapes_filters():
    row = only_row(gemm("shared.sram", "local.nram", "local.wram", "local.nram"), "mlu_sram")
    expected = {
        "clusters": 2, "cores_per_cluster": 1, "mm_count": 12,
        "a_gdram_sram_count": 12, "a_gdram_sram_bytes": 2048, "a_sram_nram_bytes": 2048,
        "b_sram_wram_count": 12, "c_nram_gdram_count": 3,
        "vec_count": 12, "vec_bytes": 4096, "rearrange_count": 36, "rearrange_bytes": 2048,
        "sram_bytes": 4096, "wram_bytes": 2048,
        # A and C, and beside them the larger of a product (4096) and two filters (2 * 2048)
        "nram_bytes": 2048 + 4096 + 4096,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_cores_of_a_cluster_share_what_goes_into_its_sram():
    nest = gemm("shared.sram", "local.nram", "local.wram", "local.nram")
    core = digit("core", 2, "threadIdx.x")
    shared = {"sa", "sb"}  # their tiles span the cores: the core's index is no part of them
    statements = []
    for s in nest.kernels[0]:
        digits = (s.digits[0], core, *s.digits[1:])
        statements.append(replace(s, digits=digits))
        if s.name not in shared:
            dims = ({**s.write.dims[0], "core": col(64)}, s.write.dims[1])
            statements[-1] = replace(statements[-1], write=replace(s.write, dims=dims))
    row = only_row(replace(nest, kernels=(tuple(statements),)), "mlu_sram")
    assert (row["clusters"], row["cores_per_cluster"], row["blocks"]) == (2, 2, 4)
    assert row["b_gdram_sram_bytes"] == 2048 / 2
    assert row["b_sram_wram_bytes"] == 2048


@pytest.mark.parametrize(("cores", "blocks", "turns", "share"), [(2, 2, 1, 1), (1, 1, 2, 1)])
def test_dealt_blocks(cores, blocks, turns, share):
    nest = gemm("shared.l1", "local.l0a", "local.l0b", "local.l0c")
    statements = tuple(replace(s, dealt_to=col(cores)) for s in nest.kernels[0])
    row = only_row(replace(nest, kernels=(statements,)), "ascend_cube")
    assert (row["blocks"], row["out_tiles"], row["work_share"]) == (blocks, 3 * turns, share)
    assert row["a_gm_l1_count"] == 12 * turns


def test_dealt_unevenly_the_busiest_core_counts():
    nest = gemm("shared.l1", "local.l0a", "local.l0b", "local.l0c")
    three = {"m0": replace(BLOCK, extent=col(3))}
    statements = tuple(
        replace(s, dealt_to=col(2), digits=tuple(three.get(d.name, d) for d in s.digits))
        for s in nest.kernels[0]
    )
    row = only_row(replace(nest, kernels=(statements,)), "ascend_cube")
    assert (row["blocks"], row["out_tiles"], row["work_share"]) == (2, 6, 0.75)


def convolution():
    """L1 filled with the windows of 16 outputs in a row, 3 taps each, of 16 channels."""
    row = digit("row", 4)
    copy = Statement(
        "im2col",
        "copy",
        (row, digit("w", 16), digit("rw", 3), digit("c", 16)),
        (access("X", {"row": 1}, {"w": 1, "rw": 1}, {"c": 1}),),
        access("X_l1", {"w": 1}, {"rw": 16, "c": 1}),
    )
    load = Statement(
        "load",
        "copy",
        (row, digit("p", 16), digit("q", 48)),
        (access("X_l1", {"p": 1}, {"q": 1}),),
        access("X_l0", {"p": 1}, {"q": 1}),
    )
    mac = Statement(
        "mac",
        "compute",
        (row, digit("k", 3, reduction=True)),
        (
            access("X_l0", {}, {"k": 16}, extent=(16, 16)),
            access("W", {"k": 16}, {}, extent=(16, 16)),
        ),
        access("Y", {"row": 16}, {}, extent=(16, 16)),
        Ops(macs=16**3),
        intrin=(16, 16, 16),
    )
    buffers = (
        buffer("X", "global", "float16", 4, 18, 16),
        buffer("X_l1", "shared.l1", "float16", 16, 48),
        buffer("X_l0", "local.l0a", "float16", 16, 48),
        buffer("W", "local.l0b", "float16", 48, 16),
        buffer("Y", "local.l0c", "float32", 64, 16),
    )
    return Nest(1, ((copy, load, mac),), {b.name: b for b in buffers}, col(0), 0.0)


def test_a_window_moves_its_halo_once_and_expands_behind_l1():
    row = only_row(convolution(), "ascend_cube")
    halo = (16 + 3 - 1) * 16 * 2
    assert row["a_gm_l1_bytes"] == row["a_gm_l1_run_bytes"] == row["l1_bytes"] == halo
    assert row["a_gm_l1_unique_bytes"] == 4 * halo
    assert row["a_l1_l0a_bytes"] == row["l0a_bytes"] == 16 * 48 * 2


def test_rows_cut_across_by_a_fused_index_are_counted_as_rows():
    """16 neighbours of a fused (row, column) index over rows of 28 reach into two rows at most."""
    own = (digit("m", 16), digit("c", 4))
    row_split = Split({"m": col(1)}, col(28), col(0), col(1))
    column_split = Split({"m": col(1)}, col(1), col(28), col(1))
    read = replace(access("X", {}, {}, {"c": 1}), splits=((row_split,), (column_split,), ()))
    copy = Statement("copy", "copy", own, (read,), access("X_ub", {"m": 1}, {"c": 1}))
    buffers = (
        buffer("X", "global", "float16", 28, 28, 4),
        buffer("X_ub", "local.ub", "float16", 16, 4),
    )
    row = only_row(Nest(1, ((copy,),), {b.name: b for b in buffers}, col(0), 0.0), "ascend_cube")
    assert row["x_gm_ub_bytes"] == 16 * 4 * 2  # no more than there are iterations


def softmax_stage(lanes):
    """Two rows of 32 divided by their sums, in a vector loop of ``lanes``."""
    own = (digit("r", 2), digit("v", 32 // lanes), digit("l", lanes, "vectorize"))
    columns = {"v": lanes, "l": 1}
    statement = Statement(
        "divide",
        "compute",
        (digit("core", 4, "blockIdx.x"), digit("turn", 3), *own),
        (access("X", {"r": 1}, columns), access("S", {"r": 1})),
        access("Y", {"r": 1}, columns),
        Ops(alu=1, special=1),
        lanes=col(lanes),
    )
    after = Statement(
        "out",
        "copy",
        (digit("core", 4, "blockIdx.x"), digit("turn", 3), digit("a", 2), digit("b", 32)),
        (access("Y", {"a": 1}, {"b": 1}),),
        access("Z", {"core": 6, "turn": 2, "a": 1}, {"b": 1}),
    )
    buffers = (
        buffer("X", "local.ub", "float32", 2, 32),
        buffer("S", "local.ub", "float32", 2),
        buffer("Y", "local.ub", "float32", 2, 32),
        buffer("Z", "global", "float32", 24, 32),
    )
    return Nest(1, ((statement, after),), {b.name: b for b in buffers}, col(0), 0.0)


@pytest.mark.parametrize(("lanes", "run"), [(8, 8), (1, 1), (32, 32)])
def test_vector_passes(lanes, run):
    row = only_row(softmax_stage(lanes), "ascend_cube")
    assert row["vec_count"] == 3 * 2  # turns, and two operations an element
    assert row["vec_bytes"] == 2 * 32 * 4
    assert row["vec_run_bytes"] == run * 4
    assert row["ub_bytes"] == (64 + 2 + 64) * 4
    assert (row["alu_ops"], row["special_ops"]) == (4 * 3 * 64, 4 * 3 * 64)
    assert (row["c_ub_gm_count"], row["c_ub_gm_bytes"]) == (3, 256)


def test_a_tensor_read_in_several_passes_is_unique_once():
    nest = softmax_stage(8)
    statement, after = nest.kernels[0]
    again = tuple(
        Statement(
            f"in{i}",
            "copy",
            (
                digit("core", 4, "blockIdx.x"),
                digit("turn", 3),
                digit(f"p{i}", 2),
                digit(f"q{i}", 32),
            ),
            (access("G", {"core": 6, "turn": 2, f"p{i}": 1}, {f"q{i}": 1}),),
            access("X", {f"p{i}": 1}, {f"q{i}": 1}),
        )
        for i in range(3)
    )
    buffers = {**nest.buffers, "G": buffer("G", "global", "float32", 24, 32)}
    row = only_row(
        replace(nest, kernels=((*again, statement, after),), buffers=buffers), "ascend_cube"
    )
    assert row["x_gm_ub_count"] == 9
    assert row["x_gm_ub_unique_bytes"] == 24 * 32 * 4
