"""What a candidate costs in TVM: generating the space, replaying one, checking one numerically."""

import pytest
from tvm import IRModule
from tvm.s_tir import Schedule, Trace

from hwsim.chips import load_chip
from tuner import spaces
from tuner.check import check_schedule
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
SPECS = ("gemm:1024x1024x1024:float16", "resnet50.c3.3x3.bias-relu", "bert-base.s512.softmax")


def _sketch(spec, chip):
    return spaces.design_space(resolve(spec), load_chip(chip))[0]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
def test_bench_design_space(benchmark, spec, chip):
    workload, loaded = resolve(spec), load_chip(chip)
    assert benchmark(spaces.design_space, workload, loaded)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
def test_bench_replay(benchmark, spec, chip):
    instructions = list(_sketch(spec, chip).trace.insts)
    initial = Schedule(IRModule({"main": resolve(spec).prim_func()}), seed=1)

    def replay():
        sch = initial.copy()
        Trace(instructions, {}).apply_to_schedule(sch, remove_postproc=True)
        return sch

    assert benchmark(replay).trace is not None


@pytest.mark.parametrize("chip", CHIPS)
def test_bench_check(benchmark, chip):
    workload = resolve("gemm:64x64x128:float16")
    sketch = _sketch(workload.spec, chip)
    assert benchmark(check_schedule, sketch, workload, 0).ok
