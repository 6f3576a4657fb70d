"""What the analysis reads off a schedule equals what TVM makes of it."""

from math import prod

import numpy as np
import pytest
from tvm import tirx
from tvm.s_tir import SBlockRealize, transform

from tuner import tir

ASCEND, MLU, GPU = "ascend-910b1", "mlu370-s4", "a100-sxm-40gb"
PRODUCTS = (
    "gemm:96x64x128:float16",
    "gemm:50x33x70:float16",
    "conv2d:1x14x14x32x48x3x3x1x1:float16",
    "conv2d:1x15x15x3x16x7x7x2x3:float16",
    "conv2d_bias_relu:1x14x14x32x32x3x3x1x1:float16",
    "batch_matmul:4x64x48x32:float16",
    "gemm:64x96x64:int8",
)
ROWWISE = ("softmax:48x96:float16", "layer_norm:48x96:float16", "add:40x90:float32")
CUDA_CORES = ("gemm:96x64x128:float32", "conv2d:1x14x14x32x48x3x3x1x1:float32")
LOWERING = (
    transform.CanonicalizeLoop(),
    transform.LowerInitBlock(),
    transform.PlanAndUpdateBufferAllocationLocation(),
    transform.ConvertBlocksToOpaque(),
    transform.LiftThreadBinding(),
    transform.CompactBufferAllocation(),
)
CASES = [
    *[(spec, chip) for spec in (*PRODUCTS, *ROWWISE) for chip in (ASCEND, MLU, GPU)],
    *[(spec, GPU) for spec in CUDA_CORES],
]


def compacted_by_tvm(mod):
    """Shapes of all allocations after CompactBufferAllocation, sorted."""
    for step in LOWERING:
        mod = step(mod)
    found = []

    def visit(node):
        if isinstance(node, tirx.For):
            visit(node.body)
        elif isinstance(node, tirx.SeqStmt):
            for part in node.seq:
                visit(part)
        elif isinstance(node, SBlockRealize):
            found.extend(node.block.alloc_buffers)
            visit(node.block.body)

    visit(mod["main"].body)
    return sorted((str(b.scope()), tuple(int(e) for e in b.shape)) for b in found)


def allocated(nest, func):
    arguments = {str(p.name) for p in func.params}
    own = (b for name, b in nest.buffers.items() if name not in arguments)
    return sorted((b.scope, tuple(int(e[0]) for e in b.shape)) for b in own)


@pytest.mark.parametrize(("spec", "chip"), CASES)
def test_buffers_are_compacted_as_tvm_does(candidates, spec, chip):
    for c in candidates(spec, chip, 4):
        nest = tir.nest(c.schedule, c.problem.workload)
        mod = c.schedule.mod
        assert allocated(nest, mod["main"]) == compacted_by_tvm(mod), c.row


def domain(block):
    return prod(int(v.dom.extent) for v in block.iter_vars)


@pytest.mark.parametrize(("spec", "chip"), CASES)
def test_statements_run_over_their_whole_padded_domain(candidates, spec, chip):
    """The iterator domains of the block are TVM's own count, whatever the tiling."""
    for c in candidates(spec, chip, 2):
        nest = tir.nest(c.schedule, c.problem.workload)
        for s in (s for kernel in nest.kernels for s in kernel):
            made = prod(int(d.extent[0]) for d in s.digits)
            if s.role == "compute" and s.ops.macs and not s.cooperative:
                (node,) = [
                    c.schedule.get(b)
                    for b in c.schedule.get_child_blocks(c.schedule.get_sblock("root"))
                    if c.schedule.get(b).name_hint == s.name
                ]
                assert made == domain(node)


@pytest.mark.parametrize("chip", [ASCEND, MLU, GPU])
@pytest.mark.parametrize("spec", PRODUCTS)
def test_executed_macs_cover_the_useful_ones(candidates, spec, chip):
    for c in candidates(spec, chip, 3):
        nest = tir.nest(c.schedule, c.problem.workload)
        executed = sum(
            s.ops.macs * prod(int(d.extent[0]) for d in s.digits) for k in nest.kernels for s in k
        )
        assert executed >= nest.macs > 0
        assert 2 * nest.macs <= nest.flops


@pytest.mark.parametrize("spec", [*PRODUCTS[:4], *ROWWISE, *CUDA_CORES])
def test_postprocessors_change_nothing_in_the_table(candidates, spec):
    """RewriteCooperativeFetch and RewriteReductionBlock only spell out what the table says."""
    for c in candidates(spec, GPU, 4, 5):
        before = tir.kernels(c.schedule, c.problem.workload, "gpu_sm")
        c.schedule.enter_postproc()
        for postproc in c.problem.postprocs:
            if type(postproc).__name__ != "VerifyGPUCode":
                assert postproc.apply(c.schedule)
        after = tir.kernels(c.schedule, c.problem.workload, "gpu_sm")
        assert len(before) == len(after)
        for name in {*before, *after}:
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)
