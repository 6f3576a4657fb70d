"""The numerical check passes what is right and, above all, fails what is wrong."""

import numpy as np
import pytest
from tvm import IRModule
from tvm.s_tir import Schedule, TensorIntrin
from tvm.script import tirx as T

from hwsim.chips import load_chip
from tuner import spaces
from tuner.check import check_schedule, random_inputs, small_like
from tuner.spaces import ascend_matmul
from tuner.spaces.intrinsics import MatrixUnit, register
from tuner.workloads import KINDS, catalogue, resolve

UNIT = MatrixUnit(
    chip_family="faulty",
    m=16, n=16, k=16, dtype="float16", accumulator="float32",
    scope_a="local.l0a", scope_b="local.l0b", scope_c="local.l0c",
)  # fmt: skip


@T.prim_func(s_tir=True)
def forgets_last_product(a: T.handle, b: T.handle, c: T.handle) -> None:
    a0, a1, b0, b1, c0, c1 = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (16, 16), "float16", offset_factor=1, scope="local.l0a", strides=[a0, a1])
    B = T.match_buffer(b, (16, 16), "float16", offset_factor=1, scope="local.l0b", strides=[b0, b1])
    C = T.match_buffer(c, (16, 16), "float32", offset_factor=1, scope="local.l0c", strides=[c0, c1])
    with T.sblock("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, r in T.grid(16, 16, 15):
            with T.sblock("mmad"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vr]) * T.Cast("float32", B[vr, vj])


@T.prim_func(s_tir=True)
def writes_too_far(A: T.Buffer((4, 8)), B: T.Buffer((4, 8)), C: T.Buffer((4, 8))):
    for i, j in T.grid(5, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vi < 4, A[vi, vj] + B[vi, vj], T.float32(0))


def _sketches(unit: MatrixUnit, workload):
    sch = Schedule(IRModule({"main": workload.prim_func()}))
    return ascend_matmul.sketches(sch, "C", unit, 24)


def test_a_wrong_intrinsic_fails():
    workload = resolve("gemm:32x48x64:float16")
    description = register(UNIT)
    assert all(check_schedule(s, workload, 0).ok for s in _sketches(UNIT, workload))
    TensorIntrin.register(UNIT.name, description, forgets_last_product, override=True)
    reports = [check_schedule(s, workload, 0) for s in _sketches(UNIT, workload)]
    assert reports
    for report in reports:
        assert not report.ok
        assert report.max_error > 100 * report.tolerance
        assert report.problem.startswith("output[")


def test_a_write_beyond_the_output_is_caught():
    report = check_schedule(Schedule(writes_too_far), resolve("add:4x8:float32"), 0)
    assert report.problem == "writes outside its output"


def test_the_program_of_another_workload_fails():
    other = Schedule(resolve("softmax:4x8:float32").prim_func())
    report = check_schedule(other, resolve("layer_norm:4x8:float32"), 0)
    assert not report.ok
    assert report.problem.startswith("does not build or run: ")


def test_a_reordered_but_equal_program_passes():
    workload = resolve("gemm:7x13x11:float32")
    sch = Schedule(workload.prim_func())
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.reorder(k, j, i)
    report = check_schedule(sch, workload, 0)
    assert report.ok
    assert report.max_error <= report.tolerance


def test_gpu_schedules_are_checked_behind_their_postprocs():
    workload, chip = resolve("gemm:64x64x64:float16"), load_chip("a100-sxm-40gb")
    sch = spaces.design_space(workload, chip)[0]
    sch.enter_postproc()
    assert all(p.apply(sch) for p in spaces.postprocs(chip) if "Verify" not in type(p).__name__)
    assert "mma_sync" in sch.mod.script()
    assert check_schedule(sch, workload, 0).ok


@pytest.mark.parametrize("workload", catalogue(), ids=lambda w: w.name)
def test_small_likeness_keeps_kind_and_padding(workload):
    small = small_like(workload)
    assert (small.kind, small.dtype) == (workload.kind, workload.dtype)
    assert small.flops < 2e7
    if workload.kind in ("gemm", "batch_matmul"):
        assert [x % 16 for x in small.shapes[-3:]] == [x % 16 for x in workload.shapes[-3:]]


def test_inputs_are_seeded_and_cover_int8():
    workload = resolve("gemm:64x64x64:int8")
    first, again, other = (random_inputs(workload, seed) for seed in (0, 0, 1))
    assert np.array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    assert (first[0].min(), first[0].max()) == (-128, 127)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda k: k.name)
def test_unscheduled_programs_match_the_numpy_reference(kind):
    by_rank = {9: (2, 6, 5, 3, 4, 3, 2, 2, 1), 7: (2, 6, 5, 3, 3, 2, 1)}
    dims = by_rank.get(len(kind.dim_names), (3, 5, 7, 6)[: len(kind.dim_names)])
    for dtype in kind.dtypes:
        workload = resolve(f"{kind.name}:{'x'.join(map(str, dims))}:{dtype}")
        report = check_schedule(Schedule(workload.prim_func()), workload, 3)
        assert report.ok, report
