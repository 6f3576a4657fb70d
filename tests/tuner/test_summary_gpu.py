"""Tables of CUDA kernels: streams and limits worked out by hand on one GEMM, and on all of them."""

import numpy as np
import pytest

from hwsim.columns import GPU_STREAMS
from tuner import tir

GPU = "a100-sxm-40gb"
# 256 x 128 x 64: blocks of 64 x 32, 8 x 8 threads, each 8 x 4 elements; K staged by 16.
GEMM = "gemm:256x128x64:float32"
ROWS, COLUMNS, DEPTH = (4, 1, 8, 4, 2), (4, 1, 8, 2, 2), (4, 4, 4)
VECTOR_4, UNROLL_0, UNROLL_1024 = 3, 0, 7


def gemm(candidates, unroll=UNROLL_0, i=ROWS, j=COLUMNS, k=DEPTH, vectors=(VECTOR_4, VECTOR_4)):
    problem = candidates(GEMM, GPU, 1)[0].problem
    row = np.array([*i, *j, *k, *vectors, unroll])
    table = tir.kernels(problem.sketches[0].replay(row), problem.workload, "gpu_sm")
    assert len(table) == 1
    return table.row(0)


def test_work_and_tiles(candidates):
    row = gemm(candidates)
    expected = {
        "macs": 256 * 128 * 64, "macs_useful": 256 * 128 * 64, "flops": 2 * 256 * 128 * 64,
        "blocks": 16, "grid_m": 4, "grid_n": 4, "grid_batch": 1, "out_tiles": 1,
        "tile_m": 64, "tile_n": 32, "tile_k": 16, "k_steps": 4, "reduce_length": 64,
        "threads": 64, "vthreads": 1, "vector_lanes": 4, "tensor_core": 0,
        "shared_bytes": (64 * 16 + 16 * 32) * 4, "acc_regs": 8 * 4, "barriers": 8,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_staging(candidates):
    """64 threads of 4 lanes fetch 64 x 16 of A in 4 instructions and 16 x 32 of B in 2."""
    row = gemm(candidates)
    expected = {
        "a_global_shared_count": 4 * 4, "a_global_shared_bytes": 64 * 16,
        "a_global_shared_lanes": 4, "a_global_shared_thread_run": 4,
        "a_global_shared_stride1_bytes": 16, "a_global_shared_stride2_bytes": 64 * 4,
        "a_global_shared_run_bytes": 16 * 4, "a_global_shared_unique_bytes": 256 * 64 * 4,
        "b_global_shared_count": 4 * 2, "b_global_shared_thread_run": 8,
        "b_global_shared_stride1_bytes": 16, "b_global_shared_stride2_bytes": 128 * 4,
        "b_global_shared_run_bytes": 32 * 4, "b_global_shared_unique_bytes": 64 * 128 * 4,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_shared_reads_of_a_warp(candidates):
    """Eight neighbouring threads share a row of A and take columns of B 4 elements apart."""
    row = gemm(candidates)
    assert (row["a_shared_local_thread_run"], row["a_shared_local_stride1_bytes"]) == (8, 0)
    assert row["a_shared_local_stride2_bytes"] == 8 * 16 * 4
    assert (row["b_shared_local_thread_run"], row["b_shared_local_stride1_bytes"]) == (8, 16)
    assert row["b_shared_local_stride2_bytes"] == 0


def test_output(candidates):
    row = gemm(candidates)
    assert row["c_local_global_count"] == 8 * 4
    assert row["c_local_global_bytes"] == 64 * 4
    assert row["c_local_global_unique_bytes"] == 256 * 128 * 4
    assert row["c_local_global_run_bytes"] == 32 * 4


def test_more_unrolling_loads_operands_less_often(candidates):
    """Without a limit (j3, k2, i4, j4) = (2, 4, 2, 2) share operands, with 1024 all of a stage."""
    little, much = gemm(candidates), gemm(candidates, UNROLL_1024)
    assert little["a_shared_local_count"] == 64 * 8
    assert much["a_shared_local_count"] == 64 * 8
    assert little["b_shared_local_count"] == 64 * 4 * 4  # once for each i3
    assert much["b_shared_local_count"] == 64 * 4


def test_virtual_threads_have_accumulators_of_their_own(candidates):
    row = gemm(candidates, i=(4, 2, 8, 2, 2))
    assert (row["vthreads"], row["acc_regs"], row["threads"]) == (2, 32, 64)


def test_a_width_that_does_not_divide_the_tile_is_no_vector(candidates):
    vector_3 = 2
    row = gemm(candidates, vectors=(vector_3, vector_3))
    assert row["a_global_shared_lanes"] == row["b_global_shared_lanes"] == 1


def test_one_block_for_everything_moves_each_tensor_once(candidates):
    row = gemm(candidates, i=(1, 4, 8, 4, 2), j=(1, 4, 8, 2, 2), k=(1, 16, 4))
    assert row["blocks"] == 1
    for name in ("a_global_shared", "b_global_shared", "c_local_global"):
        assert row[f"{name}_count"] * row[f"{name}_bytes"] == row[f"{name}_unique_bytes"]


SPECS = (
    "gemm:256x128x64:float32",
    "gemm:250x130x70:float16",
    "conv2d:1x14x14x32x48x3x3x1x1:float32",
    "conv2d:1x14x14x32x48x3x3x1x1:float16",
    "conv2d_bias_relu:1x14x14x32x32x3x3x1x1:float16",
    "batch_matmul:4x64x48x32:float16",
    "softmax:48x96:float16",
    "layer_norm:48x96:float16",
    "add:40x90:float32",
)


@pytest.mark.parametrize("spec", SPECS)
def test_traffic_is_at_least_what_is_distinct(candidates, spec):
    for c in candidates(spec, GPU, 4, 2):
        table = tir.kernels(c.schedule, c.problem.workload, "gpu_sm")
        for stream in (s for s in GPU_STREAMS if "global" in s):
            moved = table[f"{stream}_count"] * table[f"{stream}_bytes"] * table["blocks"]
            assert np.all(moved >= table[f"{stream}_unique_bytes"] - 1e-6), (stream, c.row)


@pytest.mark.parametrize("spec", SPECS)
def test_tensors_are_touched_as_a_whole(candidates, spec):
    """All inputs are read and the output is written, whatever the schedule."""
    for c in candidates(spec, GPU, 3, 3):
        table = tir.kernels(c.schedule, c.problem.workload, "gpu_sm")
        func = c.problem.workload.prim_func()
        sizes = [np.prod([int(e) for e in p.shape]) * _bytes(p) for p in func.params]
        written = sum(table[f"c_{s}_global_unique_bytes"].sum() for s in ("shared", "local"))
        assert written >= sizes[-1]
        reads = [s for s in GPU_STREAMS if "global_" in s and not s.startswith("c_")]
        assert sum(table[f"{s}_unique_bytes"].sum() for s in reads) >= sum(sizes[:-1])


def _bytes(param):
    return int("".join(ch for ch in str(param.dtype) if ch.isdigit())) // 8


def test_a_convolution_reads_its_halo(candidates):
    """A block of 14 x 14 outputs needs the padded 16 x 16 inputs of each channel it stages."""
    problem = candidates("conv2d:1x14x14x32x48x3x3x1x1:float32", GPU, 1)[0].problem
    one = (1, 1, 1, 1, 1)
    tiles = (
        one,
        (1, 1, 14, 1, 1),
        (1, 1, 7, 2, 1),
        (1, 1, 1, 4, 12),
        (1, 1, 3),
        (1, 3, 1),
        (4, 2, 4),
    )
    row = np.array([*(f for tile in tiles for f in tile), 0, 0, 0])
    table = tir.kernels(problem.sketches[0].replay(row), problem.workload, "gpu_sm")
    staged = table.row(0)
    moved = staged["a_global_shared_count"] * staged["a_global_shared_bytes"]
    assert moved == 16 * 16 * 32 * 4
    assert staged["a_global_shared_unique_bytes"] == 14 * 14 * 32 * 4
    assert staged["shared_bytes"] == (16 * 16 * 8 + 3 * 3 * 8 * 48) * 4
