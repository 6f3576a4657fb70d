"""TVM's own search on simulated chips: what it measures is logged, and nothing ends it."""

import logging
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

from hwsim.chips import load_chip
from traces import End, Measurement, Note, Trial, read
from tuner import arms, measure, runs, spaces, tir, tvm_arm
from tuner.arms import ArmError, arms_named
from tuner.measure import Job, SimBackend
from tuner.problem import Handle, Problem
from tuner.runs import RunSpec, execute
from tuner.tvm_measure import SimBuilder, SimRunner
from tuner.workloads import resolve

pytest.importorskip("xgboost", reason="TVM's cost model: the extra tvm-search is not installed")

GEMM = "gemm:128x128x128:float16"
ASCEND, MLU, A100 = CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
QUICK = partial(
    ms.search_strategy.EvolutionarySearch,
    population_size=16,
    init_min_unmeasured=8,
    genetic_num_iters=1,
)


@cache
def problem(chip: str) -> Problem:
    return Problem.of(resolve(GEMM), load_chip(chip))


@pytest.fixture(autouse=True)
def small_population(monkeypatch):
    """TVM's default population of 512 takes a minute a batch."""
    monkeypatch.setattr(runs, "TvmSearch", partial(tvm_arm.TvmSearch, strategy=QUICK))


def spec(seed: int = 0, trials: int = 12) -> RunSpec:
    return RunSpec("tvm", "evolutionary", seed, trials, batch=6)


def run(chip: str, path: Path, seed: int = 0, trials: int = 12, **options) -> list[object]:
    execute(problem(chip), spec(seed, trials), path, **options)
    return list(read(path))


def trials_of(records: list[object]) -> list[Trial]:
    return [r for r in records if isinstance(r, Trial)]


@pytest.mark.parametrize("chip", CHIPS)
def test_what_tvm_measures_is_a_candidate_of_our_sketches(chip, tmp_path):
    told = []
    records = run(chip, tmp_path / "a.jsonl", progress=lambda *state: told.append(state))
    trials, end = trials_of(records), records[-1]
    assert isinstance(end, End)
    assert (end.reason, end.measured, len(trials)) == ("budget", 12, 12)
    assert [state[0] for state in told] == [6, 12, 12]  # each round, and once at the end
    assert len({t.candidate for t in trials}) == 12
    backend = SimBackend(resolve(GEMM), load_chip(chip), repeats=3, seed=0)
    for trial in trials:
        row = np.array(trial.decisions)
        assert problem(chip).sketches[trial.sketch].hash(row) == trial.candidate
        handle = Handle(partial(problem(chip).lower, trial.sketch, row))
        assert handle.lowered().rejected_by is None
        assert backend.measure([Job(trial.candidate, handle)]) == [trial.measurement]


def test_the_clock_counts_the_batches_on_the_farm(tmp_path):
    trials = trials_of(run(ASCEND, tmp_path / "a.jsonl"))
    bench = load_chip(ASCEND).bench
    first, second = trials[:6], trials[6:]
    assert {t.virtual_s for t in first} == {first[0].virtual_s}
    work = sum(t.measurement.run_s for t in first if t.measurement)
    assert first[0].virtual_s >= bench.compile_s + work / bench.boards / 2
    assert second[0].virtual_s == pytest.approx(2 * first[0].virtual_s, rel=0.05)


def test_a_seed_decides_every_byte_and_leaves_numpy_alone(tmp_path):
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    ours = run(A100, tmp_path / "a.jsonl")
    assert np.random.random() == expected  # noqa: NPY002
    np.random.seed(6)  # noqa: NPY002
    run(A100, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    ours, other = trials_of(ours), trials_of(run(A100, tmp_path / "c.jsonl", seed=1))
    assert [t.candidate for t in ours] != [t.candidate for t in other]


def test_a_stopped_run_goes_on_without_measuring_again(tmp_path, monkeypatch):
    run(ASCEND, tmp_path / "whole.jsonl")
    answers = iter([False, True])
    part = run(ASCEND, tmp_path / "part.jsonl", stopped=lambda: next(answers))
    assert len(trials_of(part)) == 6
    assert not isinstance(part[-1], End)
    measured = []
    simulate = measure.SimBackend.measure

    def counting(self, jobs, best_us):
        measured.extend(jobs)
        return simulate(self, jobs, best_us)

    monkeypatch.setattr(measure.SimBackend, "measure", counting)
    run(ASCEND, tmp_path / "part.jsonl", resume=True)
    assert len(measured) == 6
    assert (tmp_path / "part.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_what_cannot_be_analysed_or_breaks_is_logged_as_a_failure(tmp_path, monkeypatch):
    calls = []
    kernels = tir.kernels

    def breaking(*given):
        calls.append(given)
        if len(calls) % 3 == 0:
            raise tir.Unsupported("block C: a form that nobody reads")
        if len(calls) % 3 == 1:
            raise KeyError("nonsense")
        return kernels(*given)

    monkeypatch.setattr(tir, "kernels", breaking)
    records = run(MLU, tmp_path / "a.jsonl")
    errors = [t.measurement.error for t in trials_of(records) if t.measurement]
    assert errors[:3] == [
        "compile_error: KeyError: 'nonsense'",
        None,
        "compile_error: block C: a form that nobody reads",
    ]
    assert records[-1].failed == 8
    assert np.isfinite(records[-1].best_us)


@derived_object
class RefuseAll(ms.postproc.PyPostproc):
    def _initialize_with_tune_context(self, context):
        pass

    def apply(self, sch):
        return False

    def clone(self):
        return RefuseAll()


def test_a_starved_search_says_so(tmp_path, monkeypatch):
    def refused(workload, chip):
        return ms.space_generator.ScheduleFn(
            lambda sch: sch, sch_rules=[], postprocs=[RefuseAll()], mutator_probs={}
        )

    monkeypatch.setattr(spaces, "space_generator", refused)
    *_, note, end = run(ASCEND, tmp_path / "a.jsonl")
    assert isinstance(note, Note)
    assert end.reason == note.text
    assert end.reason.startswith("starved: TVM's search gave up after 0 of 12 measurements")
    assert (end.measured, end.best_us) == (0, None)


def test_a_missing_xgboost_is_one_clear_error_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(arms, "find_spec", lambda name: None)
    message = r"^arm tvm needs the extra tvm-search: pip install 'prunelab\[tvm-search\]'$"
    with pytest.raises(ArmError, match=message):
        run(ASCEND, tmp_path / "a.jsonl")
    with pytest.raises(ArmError, match=message):
        arms_named("none,tvm")
    assert not list(tmp_path.iterdir())
    assert [arm.name for arm in arms_named("none,two-stage")] == ["none", "two-stage"]


@pytest.fixture
def tvm_loggers():
    """``tune_tir`` gives TVM's logger handlers, and fails on finding them the next time."""
    yield
    logger = logging.getLogger("tvm.s_tir.meta_schedule")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.propagate = True


@pytest.mark.parametrize("chip", CHIPS)
def test_a_simulator_serves_plain_tune_tir(chip, tmp_path, tvm_loggers):
    workload, target = resolve(GEMM), spaces.target(load_chip(chip))
    builder = SimBuilder(SimBackend(None, load_chip(chip), repeats=2, seed=0))
    database = ms.tune_tir(
        workload.prim_func(),
        target=target,
        space=spaces.space_generator(workload, load_chip(chip)),
        strategy=QUICK(),
        cost_model="random",
        work_dir=str(tmp_path),
        max_trials_global=6,
        num_trials_per_iter=6,
        builder=builder,
        runner=SimRunner(builder),
        measure_callbacks=[ms.measure_callback.AddToDatabase()],
    )
    best = min(m.mean_us for m in builder.measured.values())
    (record,) = database.get_top_k(database.commit_workload(_module(workload)), 1)
    assert np.mean([float(s) for s in record.run_secs]) == pytest.approx(best * 1e-6)
    assert ms.tir_integration.compile_tir(database, workload.prim_func(), target) is not None


def _module(workload):
    from tvm import IRModule

    return IRModule({"main": workload.prim_func()})


class Fixed:
    """A backend that answers the same to everything."""

    name = "fixed"

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement

    def measure(self, jobs, best_us=0.0):
        return [self.measurement] * len(jobs)


def build_and_run(measurement: Measurement):
    """What TVM gets to see of a measurement: the builder's result and the runner's."""
    workload = resolve(GEMM)
    builder = SimBuilder(Fixed(measurement))
    target = spaces.target(load_chip(ASCEND))
    (built,) = builder.build([ms.builder.BuilderInput(_module(workload), target)])
    path = built.artifact_path or "mem:0"
    (future,) = SimRunner(builder).run([ms.runner.RunnerInput(path, "ext_dev", [])])
    assert future.done()
    return built, future.result()


def test_builder_and_runner_answer_what_a_real_board_would():
    built, ran = build_and_run(Measurement(latencies_us=[2.0, 4.0]))
    assert built.error_msg is None
    assert [float(s) for s in ran.run_secs] == pytest.approx([2e-6, 4e-6])
    broken = Measurement(latencies_us=[], failure="compile_error", error="compile_error: l0a")
    built, ran = build_and_run(broken)
    assert (built.artifact_path, built.error_msg) == (None, "compile_error: l0a")
    assert ran.error_msg == "launch_error: mem:0 was not built by this simulator"
    built, ran = build_and_run(Measurement(latencies_us=[], failure="timeout", error="timeout: x"))
    assert built.error_msg is None
    assert (ran.run_secs, ran.error_msg) == (None, "timeout: x")


def test_without_a_workload_what_is_executed_counts_as_useful(candidates):
    (candidate,) = candidates("gemm:100x96x64:float16", ASCEND, 1)[:1]
    workload = candidate.problem.workload
    known = tir.kernels(candidate.schedule, workload, "ascend_cube")
    blind = tir.kernels(candidate.schedule, None, "ascend_cube")
    assert blind["macs_useful"].sum() == blind["macs"].sum() > known["macs_useful"].sum()
    assert known["macs_useful"].sum() == workload.flops / 2
