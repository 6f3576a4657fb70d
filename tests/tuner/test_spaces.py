"""Every workload has a design space on every chip, and what comes out of it computes right."""

from collections import Counter

import msgspec
import numpy as np
import pytest
import tvm_ffi
from tvm import IRModule, tirx
from tvm.s_tir import SBlock, Schedule, Trace

from hwsim.chips import load_chip
from tuner import spaces
from tuner.check import check_schedule, small_like
from tuner.spaces.common import BUFFERS, CORES
from tuner.spaces.intrinsics import ANNOTATION
from tuner.workloads import catalogue, resolve

ASCEND, MLU, GPU = "ascend-910b1", "mlu370-s4", "a100-sxm-40gb"
CHIPS = (ASCEND, MLU, GPU)
# One of each kind and each trouble: padding on every axis, unit and prime axes, both epilogues.
SMALL = (
    "gemm:64x64x128:float16",
    "gemm:56x57x114:int8",
    "gemm:7x13x11:float32",
    "gemm:1x56x128:float16",
    "gemm:1x1x1:float16",
    "batch_matmul:3x64x48x64:float16",
    "batch_matmul:3x16x32x1:float16",
    "conv2d:1x14x14x31x48x1x1x1x0:float16",
    "conv2d:2x9x9x16x17x3x3x1x1:int8",
    "conv2d_bias_relu:1x14x14x3x48x7x7x2x3:float16",
    "dense_bias_relu:17x48x64:float16",
    "softmax:48x96:float16",
    "softmax:7x13:float32",
    "layer_norm:48x96:float16",
    "add:40x89:float32",
)


def _fresh(workload, seed=1):
    return Schedule(IRModule({"main": workload.prim_func()}), seed=seed)


def _samples(workload, chip, per_sketch):
    """Random schedules of every sketch, replayed as a search does: simplified, undecided."""
    seed = 0
    for sketch in spaces.design_space(workload, chip):
        instructions = list(sketch.trace.simplified(True).insts)
        for _ in range(per_sketch):
            seed += 1
            sch = _fresh(workload, seed)
            Trace(instructions, {}).apply_to_schedule(sch, remove_postproc=True)
            yield sch


def _visit(mod, node_type, found):
    tvm_ffi.structural_walk(mod["main"].body, (node_type, found))


def _thread_extents(mod):
    extents = {}

    def visit(loop):
        if loop.thread_binding is not None:
            extents[loop.thread_binding.thread_tag] = int(loop.extent)

    _visit(mod, tirx.For, visit)
    return extents


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SMALL)
def test_random_schedules_compute_the_right_values(spec, chip):
    workload = resolve(spec)
    reports = [check_schedule(s, workload, 0) for s in _samples(workload, load_chip(chip), 1)]
    assert reports
    assert [r for r in reports if not r.ok] == []


@pytest.mark.parametrize("chip", CHIPS)
def test_the_whole_catalogue_has_sketches(chip):
    loaded = load_chip(chip)
    for workload in catalogue():
        assert spaces.design_space(workload, loaded), workload.name


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ["resnet50.c4.3x3.bias-relu", "bert-base.s512.softmax"])
def test_large_workloads_replay_and_their_likeness_has_the_same_sketches(name, chip):
    workload, loaded = resolve(name), load_chip(chip)
    small = small_like(workload)
    assert len(list(_samples(workload, loaded, 1))) == len(spaces.design_space(small, loaded))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", ["gemm:56x57x114:float16", "layer_norm:48x96:float16"])
def test_decisions_replay_to_the_same_program(spec, chip):
    workload = resolve(spec)
    for sch in _samples(workload, load_chip(chip), 1):
        again = _fresh(workload)
        Trace(list(sch.trace.insts), dict(sch.trace.decisions)).apply_to_schedule(again, False)
        assert tvm_ffi.structural_equal(again.mod, sch.mod)
        simplified = _fresh(workload)
        sch.trace.simplified(True).apply_to_schedule(simplified, False)
        assert tvm_ffi.structural_equal(simplified.mod, sch.mod)


@pytest.mark.parametrize("chip", CHIPS)
def test_design_spaces_are_the_same_every_time(chip):
    workload, loaded = resolve("dense_bias_relu:128x256x512"), load_chip(chip)
    first, second = (
        [str(Trace(list(s.trace.insts), {})) for s in spaces.design_space(workload, loaded)]
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize(
    ("chip", "dtype", "intrinsic", "scopes"),
    [
        (ASCEND, "float16", "ascend_mmad_16x16x16_float16", {"shared.l1", "local.l0a"}),
        (ASCEND, "int8", "ascend_mmad_16x16x32_int8", {"local.l0b", "local.l0c"}),
        (MLU, "float16", "mlu_mmad_16x64x64_float16", {"local.nram", "local.wram"}),
        (MLU, "int8", "mlu_mmad_16x64x64_int8", {"local.nram", "shared.sram"}),
    ],
)
def test_products_run_on_the_matrix_unit(chip, dtype, intrinsic, scopes):
    sch = next(_samples(resolve(f"gemm:128x256x512:{dtype}"), load_chip(chip), 1))
    intrinsics, buffers, counts = set(), set(), Counter()

    def visit(block):
        intrinsics.update(v for k, v in block.annotations.items() if k == ANNOTATION)
        buffers.update(b.scope() for b in block.alloc_buffers)
        counts.update(int(v) for k, v in block.annotations.items() if k == BUFFERS)

    _visit(sch.mod, SBlock, visit)
    assert intrinsics == {intrinsic}
    assert scopes <= buffers
    assert set(counts) <= {1, 2}
    assert counts.total() >= 4


def test_few_rows_take_the_small_intrinsic():
    sch = next(_samples(resolve("gemm:7x128x128:float16"), load_chip(MLU), 1))
    assert "mlu_mmad_4x64x64_float16" in sch.mod.script()


@pytest.mark.parametrize("spec", ["gemm:512x512x512:float16", "softmax:512x64", "add:512x512"])
def test_mlu_never_asks_for_more_cores_than_a_cluster_has(spec):
    chip = load_chip(MLU)
    for sch in _samples(resolve(spec), chip, 8):
        extents = _thread_extents(sch.mod)
        assert set(extents) == {"blockIdx.x", "threadIdx.x"}
        assert extents["threadIdx.x"] <= chip.cores_per_cluster


@pytest.mark.parametrize(
    ("chip", "spec", "units"),
    [
        (ASCEND, "gemm:256x256x64", 24),
        (ASCEND, "softmax:64x32", 48),
        (MLU, "gemm:256x256x64", 6),
        (MLU, "add:64x64", 6),
    ],
)
def test_blocks_are_dealt_to_a_sampled_number_of_cores(chip, spec, units):
    dealt = set()
    for sch in _samples(resolve(spec), load_chip(chip), 24):
        _visit(sch.mod, tirx.For, lambda loop: dealt.update(map(int, _cores(loop))))
    assert dealt == {units // 2, units * 3 // 4, units}


def _cores(loop):
    return [value for key, value in loop.annotations.items() if key == CORES]


@pytest.mark.parametrize(("chip", "kib"), [(GPU, 163), ("rtx-2080-ti", 64)])
def test_gpu_targets_carry_the_true_shared_memory(chip, kib):
    assert spaces.target(load_chip(chip)).attrs["max_shared_memory_per_block"] == kib * 1024


def test_gpu_verifier_accepts_what_the_stock_limit_refuses():
    """TVM's tags say 48 KiB of shared memory a block; the verifier of the true chip keeps more."""
    chip, workload = load_chip(GPU), resolve("gemm:1024x1024x1024:float16")
    stock = msgspec.structs.replace(chip, shared_block_kib=48)

    def accepted(by):
        postprocs, samples = spaces.postprocs(by), _samples(workload, chip, 12)
        return {i for i, s in enumerate(samples) if all(p.apply(s) for p in postprocs)}

    assert accepted(stock) < accepted(chip)


@pytest.mark.parametrize(
    ("chip", "dtype", "expected"),
    [
        (GPU, "float16", True),
        (GPU, "int8", True),
        (GPU, "float32", False),
        ("v100-sxm2", "float16", True),
        ("v100-sxm2", "int8", False),
        ("gtx-1080-ti", "float16", False),
    ],
)
def test_gpu_uses_the_tensor_cores_that_the_chip_has(chip, dtype, expected):
    loaded = load_chip(chip)
    workload = resolve(f"gemm:128x128x128:{dtype}")
    sketch = spaces.design_space(workload, loaded)[0]
    assert ("Blockize" in {i.kind.name for i in sketch.trace.insts}) == expected


def test_vector_tiles_reach_the_whole_chip():
    """The elementwise space can fill all vector cores of an Ascend, not only a few."""
    blocks = [
        _thread_extents(s.mod)["blockIdx.x"]
        for s in _samples(resolve("add:1024x1024"), load_chip(ASCEND), 30)
    ]
    assert max(blocks) >= 48
    assert np.unique(blocks).size > 5
