"""The spaces serve TVM's own evolutionary search as well, categoricals included."""

import pytest
from tvm import IRModule
from tvm.s_tir import meta_schedule as ms

from hwsim.chips import load_chip
from tuner import spaces
from tuner.check import check_schedule
from tuner.spaces.mutate import change_categorical
from tuner.workloads import resolve


def _categoricals(trace):
    return tuple(int(trace.decisions[i]) for i in trace.insts if i.kind.name == "SampleCategorical")


def _search(workload, chip):
    context = ms.TuneContext(
        IRModule({"main": workload.prim_func()}),
        target=spaces.target(chip),
        space_generator=spaces.space_generator(workload, chip),
        search_strategy=ms.search_strategy.EvolutionarySearch(
            population_size=32, init_min_unmeasured=8, genetic_num_iters=2
        ),
        rand_state=7,
        num_threads=1,
    )
    context.pre_tuning(
        max_trials=8,
        num_trials_per_iter=8,
        design_spaces=context.generate_design_space(),
        database=ms.database.MemoryDatabase(),
        cost_model=ms.cost_model.RandomModel(seed=1),
    )
    return context.generate_measure_candidates()


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4", "a100-sxm-40gb"])
@pytest.mark.parametrize("spec", ["gemm:64x64x64:float16", "softmax:48x96:float16"])
def test_tvm_searches_the_space(spec, chip):
    workload = resolve(spec)
    candidates = _search(workload, load_chip(chip))
    assert len(candidates) >= 4
    assert check_schedule(candidates[0].sch, workload, 0).ok


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4"])
def test_the_mutator_changes_one_categorical(chip):
    trace = spaces.design_space(resolve("gemm:64x64x64:float16"), load_chip(chip))[0].trace
    before = _categoricals(trace)
    seen = set()
    for seed in range(1, 80):
        after = _categoricals(change_categorical(trace, seed))
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
        seen.add(after)
    choices = [len(i.attrs[0]) for i in trace.insts if i.kind.name == "SampleCategorical"]
    assert len(seen) == sum(n - 1 for n in choices)


def test_the_mutator_gives_up_where_there_is_no_choice():
    sketch = spaces.design_space(resolve("add:1024x1024"), load_chip("a100-sxm-40gb"))[0]
    assert change_categorical(sketch.trace, 1) is None


@pytest.mark.parametrize("spec", ["add:512x512:float16", "softmax:48x96:float16"])
def test_sketches_have_no_dead_decisions(spec):
    for sketch in spaces.design_space(resolve(spec), load_chip("a100-sxm-40gb")):
        assert len(sketch.trace.insts) == len(sketch.trace.simplified(True).insts)
