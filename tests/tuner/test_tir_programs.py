"""Programs of users that are no products: gathers, poolings, reductions to a scalar."""

import numpy as np
import pytest
from tvm import te, topi
from tvm.te import create_prim_func

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.columns import ASCEND_STREAMS, GPU_STREAMS, MLU_STREAMS
from tuner import tir
from tuner.problem import Problem
from tuner.workloads import Workload

CHIPS = ("a100-sxm-40gb", "ascend-910b1", "mlu370-s4")
STREAMS = {
    "gpu_sm": [s for s in GPU_STREAMS if "global" in s],
    "ascend_cube": [s for s in ASCEND_STREAMS if "_gm" in s],
    "mlu_sram": [s for s in MLU_STREAMS if "gdram" in s],
}


def tensor(*shape, dtype="float32", name="A"):
    return te.placeholder(shape, dtype, name=name)


def gather():
    table, index = tensor(1000, 64), tensor(50, dtype="int32", name="I")
    return [table, index, topi.take(table, index, axis=0, mode="clip")]


def pooling():
    image = tensor(1, 16, 12, 12)
    return [image, topi.nn.pool2d(image, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")]


def total():
    matrix = tensor(24, 40)
    return [matrix, topi.sum(matrix)]


def transpose():
    matrix = tensor(24, 40)
    return [matrix, topi.transpose(matrix)]


def depthwise():
    image, weights = tensor(1, 12, 12, 16), tensor(3, 3, 16, 1, name="W")
    return [image, weights, topi.nn.depthwise_conv2d_nhwc(image, weights, 1, 1, 1)]


# What is read of the inputs: a gather takes 50 of 1,000 rows.
READ_BYTES = {
    gather: (50 * 64 + 50) * 4,
    pooling: 16 * 144 * 4,
    total: 960 * 4,
    transpose: 960 * 4,
    depthwise: (144 + 9) * 16 * 4,
}


def problem(program, chip):
    def build():
        return create_prim_func(program())

    name = program.__name__
    workload = Workload(name, name, "source", (), "float32", 1e4, build=build)
    return Problem.of(workload, load_chip(chip))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", READ_BYTES)
def test_tables_of_users_programs(program, chip):
    found, rng = problem(program, chip), np.random.default_rng(0)
    for sketch in found.sketches:
        for row in sketch.sample(rng, 2):
            table = tir.kernels(sketch.replay(row), found.workload, found.chip.backend)
            inputs = [s for s in STREAMS[found.chip.backend] if not s.startswith("c_")]
            read = sum(table[f"{s}_unique_bytes"].sum() for s in inputs)
            assert read >= READ_BYTES[program]
            if program is gather:
                assert read < 1000 * 64 * 4
            assert not np.isnan(simulate(table, found.chip).latency_us).any()
