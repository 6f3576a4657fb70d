"""The sums of scheduled programs: their real accumulators, partial sums and epilogues included."""

from fractions import Fraction

import numpy as np
import pytest
import tvm_ffi
from tvm import te
from tvm.s_tir import Schedule
from tvm.te import create_prim_func

from hwsim.chips import load_chip
from pruner.rules.int_overflow import IntOverflow
from tuner import tir
from tuner.problem import Problem
from tuner.workloads import Workload, resolve

CPU, GPU, ASCEND, MLU = "local-cpu", "a100-sxm-40gb", "ascend-910b1", "mlu370-s4"


def product(k, dtype="int8", acc="int32", term=None):
    """``C[i, j] = sum_k A[i, k] B[k, j]`` with products in ``term`` and sums in ``acc``."""
    a, b = te.placeholder((32, k), dtype, name="A"), te.placeholder((k, 32), dtype, name="B")
    r, term = te.reduce_axis((0, k), name="k"), term or acc
    c = te.compute(
        (32, 32),
        lambda i, j: te.sum((a[i, r].astype(term) * b[r, j].astype(term)).astype(acc), axis=r),
        name="C",
    )
    return create_prim_func([a, b, c])


def workload(func):
    name = str(tvm_ffi.structural_hash(func))
    return Workload(name, name, "source", (), "int8", 1.0, build=lambda: func)


def factored(func, factor):
    """The reduction split in two kernels: partial sums over ``factor`` elements, then their sum."""
    sch = Schedule(func)
    block = sch.get_sblock("C")
    *_, k = sch.get_loops(block)
    outer, _ = sch.split(k, [None, factor])
    sch.rfactor(outer, factor_axis=0)
    return sch


def table(sch, func, backend="cpu"):
    return tir.kernels(sch, workload(func), backend)


@pytest.mark.parametrize("chip", [GPU, ASCEND, MLU])
@pytest.mark.parametrize(("k", "bits"), [(131_071, 32), (131_072, 33)])
def test_every_candidate_of_a_space_is_judged_at_the_boundary(chip, k, bits):
    """131,071 is prime: the units of Ascend and MLU pad it to 131,072, with zeros."""
    problem = Problem.of(resolve(f"gemm:16x16x{k}:int8"), load_chip(chip))
    for sketch in problem.sketches:
        found = sketch.kernels(sketch.sample(np.random.default_rng(0), 4))
        assert found["sum_need_bits"].tolist() == [bits] * len(found)
        assert IntOverflow().check(found, problem.chip).keep.tolist() == [bits == 32] * len(found)


@pytest.mark.parametrize(
    ("k", "acc", "term", "need", "have"),
    [
        (1, "int16", "int16", 16, 16),
        (2, "int16", "int16", 17, 16),
        (64, "int32", "int16", 22, 32),
        (64, "int32", "int8", 16, 8),  # (-128)^2 is computed in 8 bits before it is added
    ],
)
def test_the_dtype_of_sums_and_of_products_counts(k, acc, term, need, have):
    func = product(k, acc=acc, term=term)
    found = table(Schedule(func), func)
    # 64 products need 22 of 32 bits, but each of them 16 of 16: the one with less to spare counts
    expected = (16, 16) if (term, acc) == ("int16", "int32") else (need, have)
    assert (found["sum_need_bits"][0], found["sum_bits"][0]) == expected


def test_partial_sums_of_a_factored_reduction_add_up_to_the_whole_range():
    func = product(131_072)
    found = table(factored(func, 1024), func)
    partial = 1024 * 128 * 128
    assert found["sum_need_bits"].tolist() == [partial.bit_length() + 1, 33]


def test_a_factored_reduction_rounds_less_often():
    func = product(4096, "float16", "float16")
    whole, split = table(Schedule(func), func), table(factored(func, 64), func)
    assert whole["sum_rounding"].tolist() == [4096 / 2048]
    assert split["sum_rounding"].tolist() == [64 / 2048, (64 + 64) / 2048]
    mixed = product(4096, "float16", "float32", "float16")
    chain = Fraction(4096, 2**24) + Fraction(1, 2**11)
    assert Fraction(table(Schedule(mixed), mixed)["sum_rounding"][0]) == chain


def test_an_epilogue_adds_to_the_range():
    """K = 131,071 products and an int16 on top: 2^31 - 16384 + 32767 does not fit."""
    k = 131_071
    a, b = (te.placeholder((k,), "int8", name=name) for name in "AB")
    extra = te.placeholder((1,), "int16", name="D")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (1,), lambda i: te.sum(a[r].astype("int32") * b[r].astype("int32"), axis=r), name="C"
    )
    d = te.compute((1,), lambda i: c[i] + extra[i].astype("int32"), name="R")
    func = create_prim_func([a, b, extra, d])
    assert table(Schedule(func), func)["sum_need_bits"].tolist() == [32, 33]


def test_a_range_that_is_not_known_is_said_so():
    a = te.placeholder((8,), "int8", name="A")
    func = create_prim_func([a, te.compute((8,), lambda i: a[i] << 1, name="C")])
    found = table(Schedule(func), func)
    assert found["sum_unbounded"].tolist() == [1]
    assert found["sum_need_bits"].tolist() == [0]
