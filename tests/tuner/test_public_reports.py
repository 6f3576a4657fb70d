"""What users of tuners have reported in public, each tuned here, or refused with one clear line.

Never a crash, a hang, an empty result without a word, or wrong values.  What used to end a process
runs in a process of its own with a time limit: ``python test_public_reports.py NAME TARGET``.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import te, topi
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.script import tirx as T

from hwsim.chip import ChipError
from hwsim.chips import load_chip, load_file
from hwsim.table import KernelTable
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from tuner import register_callback, spaces, tune_tir
from tuner.check import check_schedule
from tuner.dropin import TuneError, TuneWarning
from tuner.workloads import WorkloadError, resolve
from tuner.workloads.source import workload_of

A100, ASCEND, MLU = "a100-sxm-40gb", "ascend-910b1", "mlu370-s4"
CPU = {"kind": "llvm", "num-cores": 1}
LIMIT_S = 240  # of a process that might hang; a busy machine takes most of it to import TVM
QUICK = partial(
    ms.search_strategy.EvolutionarySearch,
    population_size=16,
    init_min_unmeasured=4,
    genetic_num_iters=1,
)


# The programs -------------------------------------------------------------------------------------


def dense_add():
    """N=1, M=1000, K=512 in fp16, as a classifier's last layer."""
    x, w = te.placeholder((1, 512), "float16", "x"), te.placeholder((1000, 512), "float16", "w")
    b, k = te.placeholder((1, 1000), "float16", "b"), te.reduce_axis((0, 512), "k")
    product = te.compute((1, 1000), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "dense")
    return te.create_prim_func(
        [x, w, b, te.compute((1, 1000), lambda i, j: product[i, j] + b[i, j], "add")]
    )


def pool_grad():
    """The gradient of a 2 x 2 max pooling."""
    data = te.placeholder((1, 16, 28, 28), "float32", "data")
    grad = te.placeholder((1, 16, 14, 14), "float32", "grad")
    out = topi.nn.pool_grad(grad, data, [2, 2], [2, 2], [0, 0, 0, 0], "max")
    return te.create_prim_func([grad, data, out])


def gather():
    """Rows of a table by an index tensor."""
    data = te.placeholder((16, 32), "float32", "data")
    indices = te.placeholder((8, 32), "int32", "indices")
    return te.create_prim_func([data, indices, topi.gather(data, 0, indices)])


def expand_like():
    """(3, 4) repeated along a new axis: 60 elements."""
    data, like = te.placeholder((3, 4), "float32", "a"), te.placeholder((3, 4, 5), "float32", "b")
    return te.create_prim_func([data, like, topi.expand_like(data, like, [2])])


@T.prim_func(s_tir=True)
def zero_extent(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 0):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vk]


def dynamic_linear():
    """(n, 784) -> 128 with n unknown."""
    n = te.var("n")
    x, w = te.placeholder((n, 784), "float32", "x"), te.placeholder((128, 784), "float32", "w")
    k = te.reduce_axis((0, 784), "k")
    return te.create_prim_func(
        [x, w, te.compute((n, 128), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "y")]
    )


def injective():
    """Nothing but elementwise work."""
    x = te.placeholder((64, 1024), "float32", "x")
    return te.create_prim_func([x, topi.nn.relu(topi.add(x, te.const(1, "float32")))])


PROGRAMS: dict[str, Callable[[], object]] = {
    "dense_add": dense_add,
    "pool_grad": pool_grad,
    "gather": gather,
    "expand_like": expand_like,
    "zero_extent": lambda: zero_extent,
    "dynamic_linear": dynamic_linear,
    "injective": injective,
}


# Tuning them --------------------------------------------------------------------------------------


@derived_object
class Compiling(ms.builder.PyBuilder):
    """Compiles for this machine, in this process."""

    def __init__(self, built):
        super().__init__()
        self.built = built

    def build(self, inputs):
        results = []
        for given in inputs:
            try:
                self.built.append(tvm.compile(given.mod, target=given.target))
                results.append(ms.builder.BuilderResult(f"mem:{len(self.built) - 1}", None))
            except Exception as error:
                results.append(ms.builder.BuilderResult(None, str(error)[-200:]))
        return results


@derived_object
class Done(ms.runner.PyRunnerFuture):
    """What is there already."""

    def __init__(self, result):
        super().__init__()
        self.found = result

    def done(self):
        return True

    def result(self):
        return self.found


@derived_object
class Running(ms.runner.PyRunner):
    """Runs once in this process, on zeros: any index is a legal one."""

    def __init__(self, built):
        super().__init__()
        self.built = built

    def run(self, inputs):
        return [Done(ms.runner.RunnerResult([self._seconds(given)], None)) for given in inputs]

    def _seconds(self, given):
        function = self.built[int(str(given.artifact_path).removeprefix("mem:"))]
        shapes = [info.as_json() for info in given.args_info]
        arrays = [tvm.runtime.tensor(np.zeros([int(x) for x in s[2]], s[1])) for s in shapes]
        start = time.perf_counter()
        function(*arrays)
        return time.perf_counter() - start


def tune(func, target, folder, trials=4, **given):
    options = {"strategy": QUICK(), "cost_model": "random", "num_trials_per_iter": 2, "seed": 1}
    if isinstance(target, dict):
        built: list[object] = []
        options |= {"builder": Compiling(built), "runner": Running(built), "pruner": None}
    return tune_tir(
        func, target, str(folder), trials, **{**options, "num_tuning_cores": 1, **given}
    )


def best(database, func, target):
    """The best schedule; the target is the chip's own where there is a chip."""
    made = (
        spaces.target(load_chip(target)) if isinstance(target, str) else tvm.target.Target(target)
    )
    return ms.tir_integration.compile_tir(database, func, made)


def check(func, target, folder, **given):
    """Tune and hold the best schedule's values against the unscheduled program's."""
    database = tune(func, target, folder, **given)
    assert len(database)
    report = check_schedule(best(database, func, target), workload_of("reported", func), seed=0)
    assert report.ok, report.problem
    return database


def apart(name: str, target: str) -> subprocess.CompletedProcess[str]:
    """Tune and check in a process of its own."""
    command = [sys.executable, __file__, name, target]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


# The reports --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thin_fp16_layer_with_tensor_cores_is_tuned_the_same_every_time(tmp_path):
    traces = []
    for attempt in ("first", "second"):
        database = tune(dense_add(), A100, tmp_path / attempt, trials=4)
        traces.append([str(r.trace) for r in database.get_all_tuning_records()])
    assert traces[0] == traces[1]
    assert traces[0]
    assert check_schedule(
        best(database, dense_add(), A100), workload_of("reported", dense_add()), seed=0
    ).ok


def test_one_schedule_that_tvm_refuses_does_not_end_a_pool_grads_run(tmp_path):
    check(pool_grad(), CPU, tmp_path)


def test_a_pool_grad_that_the_simulator_cannot_read_is_one_line(tmp_path):
    """The gradient of a maximum keeps value and place in two buffers at once."""
    with pytest.raises(TuneError, match=r"^main: nothing ran: .*writes 2 buffers\)"):
        tune(pool_grad(), ASCEND, tmp_path)


def test_gather_on_the_cpu_ends_no_process():
    done = apart("gather", "llvm")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("target", [A100, ASCEND, MLU])
def test_gather_on_simulated_chips(target):
    done = apart("gather", target)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("target", [A100, CPU], ids=["a100", "llvm"])
def test_a_loop_that_nothing_enters_is_refused(target, tmp_path):
    with pytest.raises(WorkloadError, match=r"^loop '\w+' has extent 0: nothing to schedule$"):
        tune(zero_extent, target, tmp_path, cost_model="xgb")


@pytest.mark.parametrize("target", [A100, ASCEND, CPU], ids=["a100", "ascend", "llvm"])
def test_expand_like_computes_the_right_values(target, tmp_path):
    check(expand_like(), target, tmp_path)


@pytest.mark.parametrize(
    "chip", [ASCEND, *(pytest.param(c, marks=pytest.mark.slow) for c in (A100, MLU))]
)
def test_a_7x7_convolution_in_fp16_computes_the_right_values(chip, tmp_path):
    spec = "conv2d:1x18x18x3x16x7x7x2x0:float16"  # the kernel and channels of 1x230x230x3
    func = resolve(spec).prim_func()
    database = tune(func, chip, tmp_path)
    report = check_schedule(best(database, func, chip), resolve(spec), seed=0)
    assert report.ok, report.problem


@pytest.mark.slow
def test_the_reported_7x7_convolution_is_right_at_its_full_size(tmp_path):
    spec = "conv2d:1x230x230x3x64x7x7x2x0:float16"
    func = resolve(spec).prim_func()
    database = tune(func, ASCEND, tmp_path)
    report = check_schedule(best(database, func, ASCEND), resolve(spec), seed=0)
    assert report.ok, report.problem


def test_two_targets_never_share_a_database(tmp_path):
    tune(injective(), ASCEND, tmp_path, trials=2)
    with pytest.raises(TuneError, match="holds this workload for another target"):
        tune(injective(), MLU, tmp_path, trials=2)


@derived_object
class Refusing(ms.builder.PyBuilder):
    """A builder of which nothing comes."""

    def build(self, inputs):
        return [ms.builder.BuilderResult(None, "no compiler")] * len(inputs)


def test_a_build_that_failed_is_never_the_best(tmp_path):
    with pytest.raises(TuneError, match=r"^main: nothing ran: 2 measured candidates failed"):
        tune(injective(), ASCEND, tmp_path, trials=2, builder=Refusing(), runner="local")
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert best(database, injective(), ASCEND) is None


@pytest.mark.parametrize("target", [A100, CPU], ids=["a100", "llvm"])
def test_a_linear_layer_of_unknown_length_is_refused(target, tmp_path):
    with pytest.raises(WorkloadError, match=r"has a symbolic shape, expected constants$"):
        tune(dynamic_linear(), target, tmp_path)


def test_a_product_of_prime_sides_tunes(tmp_path):
    """2043 = 3^2 * 227: no side is a multiple of anything that hardware likes."""
    spec = "gemm:2043x2043x2043:float16"
    database = tune(resolve(spec).prim_func(), ASCEND, tmp_path, trials=2)
    assert len(database) == 2


@pytest.mark.slow
def test_a_convolution_that_overflowed_shared_memory_stays_within_it(tmp_path):
    func = resolve("conv2d:1x13x13x256x512x3x3x1x1:float32").prim_func()
    database = tune(func, A100, tmp_path, trials=24, num_trials_per_iter=8)
    limit = load_chip(A100).shared_block_kib * 1024
    schedule = best(database, func, A100)
    assert 0 < shared_bytes(schedule.mod) <= limit


def shared_bytes(mod) -> int:
    from tuner import tir
    from tuner.problem import Schedule

    return int(tir.kernels(Schedule(mod), None, "gpu_sm")["shared_bytes"].max())


def test_an_injective_task_on_a_gpu_yields_distinct_records(tmp_path):
    func = injective()
    before = func.script()
    database = check(func, A100, tmp_path, trials=64)  # there are not as many
    traces = [str(r.trace) for r in database.get_all_tuning_records()]
    assert 2 <= len(traces) == len(set(traces)) < 64
    assert func.script() == before  # TVM changes a function that it shares with a schedule


def test_everything_pruned_is_told_and_does_not_end_the_run(tmp_path):
    register_callback(lambda *_: False)
    try:
        with pytest.warns(TuneWarning, match="the pruner lets everything pass"):
            database = tune(injective(), ASCEND, tmp_path, trials=2)
    finally:
        register_callback(None)
    assert len(database) == 2


def test_half_of_ten_configurations_is_enough_to_tune(tmp_path):
    """Every second candidate is pruned, of a space so small that the search asks for more."""
    heard: dict[str, bool] = {}

    def every_second(task, subject, verdict):
        if json.loads(verdict)["stage"] == "task":
            return None
        return heard.setdefault(subject, len(heard) % 2 == 0)

    register_callback(every_second)
    try:
        x = te.placeholder((2, 8), "float32", "x")
        func = te.create_prim_func([x, topi.nn.relu(x)])
        database = tune(func, A100, tmp_path, trials=64)
    finally:
        register_callback(None)
    assert 1 <= len(database) < 10


@pytest.mark.parametrize("wrong_mhz", ["1410000", "1.41", "1410000000"])
def test_a_clock_in_another_unit_is_refused(wrong_mhz, tmp_path):
    shipped = Path(spaces.__file__).parents[2] / "hwsim/gpu_sm/chips" / f"{A100}.toml"
    text = shipped.read_text()
    assert "clock_mhz = { value = 1410," in text
    path = tmp_path / "mine.toml"
    path.write_text(
        text.replace("clock_mhz = { value = 1410,", f"clock_mhz = {{ value = {wrong_mhz},")
    )
    with pytest.raises(ChipError, match=r"mine.toml: `\$.clock_mhz`"):
        load_file(path)


def test_neighbours_keep_to_the_restrictions():
    from tuner.problem import Problem
    from tuner.runs import search_spaces, task_stage

    problem = Problem.of(resolve("gemm:1024x1024x1024:float16"), load_chip(ASCEND))
    kept = task_stage(problem, rule_set("as-described"))
    rng = np.random.default_rng(0)
    restricted = 0
    for space, result in zip(search_spaces(problem, kept), kept, strict=True):
        restricted += result.nodes_before - result.nodes_after
        rows = space.sample(200, rng)
        for _ in range(5):
            rows = space.mutate(rows, rng)
            rows = space.crossover(rows, rows[::-1], rng)
        for choice in space.choices:
            assert choice.holds(rows[:, choice.start : choice.stop]).all()
    assert restricted > 0


def test_a_cross_entropy_tile_beyond_the_unified_buffer_is_pruned_with_both_numbers():
    """128 x 256 x 32: UB has to hold 8,577,280 bits and has 1,572,864."""
    chip = load_chip(ASCEND)
    need, have = 8_577_280 // 8, 1_572_864 // 8
    table = KernelTable.of("ascend_cube", ub_bytes=[need])
    verdict = (
        TrialStage(rule_set("default").trial, None, chip)
        .judge(table, ["tile"], rescue=False)
        .verdict(0)
    )
    assert (verdict.keep, verdict.rule) == (False, "capacity{scope=ub}")
    (evidence,) = verdict.evidence
    assert (evidence.need, evidence.have, evidence.unit) == (need, have, "B")


@derived_object
class Interrupted(ms.builder.PyBuilder):
    """A machine that dies in its second batch."""

    def __init__(self):
        super().__init__()
        self.batches = 0

    def build(self, inputs):
        self.batches += 1
        if self.batches == 2:
            raise RuntimeError("the machine is gone")
        return [ms.builder.BuilderResult("mem:0", None) for _ in inputs]


@derived_object
class Constant(ms.runner.PyRunner):
    """A microsecond for everything."""

    def run(self, inputs):
        return [Done(ms.runner.RunnerResult([1e-6], None)) for _ in inputs]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    with pytest.raises(TuneError, match=r"TVM stopped tuning: .*the machine is gone"):
        tune(injective(), ASCEND, tmp_path, builder=Interrupted(), runner=Constant())
    with open(tmp_path / "database_tuning_record.json", "a") as file:
        file.write('[0, [[["GetSBlock"')  # what a kill leaves
    with pytest.warns(TuneWarning, match="torn lines taken out"):
        database = tune(injective(), ASCEND, tmp_path, trials=2)
    traces = [str(r.trace) for r in database.get_all_tuning_records()]
    assert len(traces) == len(set(traces)) == 4


if __name__ == "__main__":
    signal.alarm(LIMIT_S)
    name, on = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        check(PROGRAMS[name](), CPU if on == "llvm" else on, Path(scratch))
