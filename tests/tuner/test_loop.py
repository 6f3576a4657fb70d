"""The tuning loop: budgets, logs, resuming, and what happens when rules or candidates break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from tvm.s_tir import ScheduleError

from hwsim.chips import load_chip
from traces import End, Header, Note, TaskPrune, Trial, read
from tuner import tir
from tuner.measure import SimBackend
from tuner.offers import Round
from tuner.problem import Problem
from tuner.runs import RunSpec, execute
from tuner.search import STRATEGIES
from tuner.sketch import Sketch
from tuner.spaces import SpaceError
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
ARMS = ("none", "task", "trial", "two-stage")
GEMM = "gemm:128x128x128:float16"
TRIALS, BATCH = 20, 8


@cache
def problem(chip: str, spec: str = GEMM) -> Problem:
    return Problem.of(resolve(spec), load_chip(chip))


def spec(arm: str, **others: Any) -> RunSpec:
    return RunSpec(**{"arm": arm, "strategy": "evolutionary", "seed": 0, "trials": TRIALS,
                      "batch": BATCH, **others})  # fmt: skip


class Log:
    """A run's records by kind."""

    def __init__(self, path: Path) -> None:
        records = list(read(path))
        self.bytes = path.read_bytes()
        self.header, self.end = records[0], records[-1]
        self.trials = [r for r in records if isinstance(r, Trial)]
        self.notes = [r.text for r in records if isinstance(r, Note)]
        self.values = [r for r in records if isinstance(r, TaskPrune)]
        self.measured = [t for t in self.trials if t.measurement is not None]


Runs = Callable[..., Log]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """``finished(chip, arm)``: the log of a small run, made once."""

    @cache
    def run(chip: str, arm: str) -> Log:
        path = tmp_path_factory.mktemp("runs") / "run.jsonl"
        execute(problem(chip), spec(arm), path)
        return Log(path)

    return run


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("arm", ARMS)
def test_a_run_keeps_its_budget_and_says_why_it_skipped(
    finished: Runs, chip: str, arm: str
) -> None:
    log = finished(chip, arm)
    assert isinstance(log.header, Header)
    assert isinstance(log.end, End)
    assert (log.header.chip, log.header.arm, log.header.workload) == (chip, arm, GEMM)
    assert log.end.reason == "budget"
    assert len(log.measured) == log.end.measured == TRIALS
    assert log.end.pruned == len(log.trials) - TRIALS
    assert max(Counter(t.round for t in log.measured).values()) <= BATCH
    assert [t.index for t in log.trials] == list(range(len(log.trials)))
    assert len({t.candidate for t in log.trials}) == len(log.trials)
    clock = [t.virtual_s for t in log.trials]
    assert clock == sorted(clock)
    assert log.end.virtual_s == clock[-1] > 0
    for trial in log.trials:
        if trial.measurement is None:
            assert not trial.verdict["keep"]
            assert trial.verdict["stage"] in ("trial", "verifier")
            assert trial.verdict["rule"]
            assert trial.verdict["reason"]
    worked = [t.measurement.mean_us for t in log.measured if not t.measurement.failure]
    assert log.end.best_us == min(worked)
    assert log.end.failed == TRIALS - len(worked)


@pytest.mark.parametrize("chip", CHIPS)
def test_only_the_arms_with_a_stage_show_its_verdicts(finished: Runs, chip: str) -> None:
    stages = {
        arm: {t.verdict["stage"] for t in finished(chip, arm).trials if t.verdict} for arm in ARMS
    }
    for arm in ("none", "task"):
        assert stages[arm] <= {"verifier"}
    for arm in ("trial", "two-stage"):
        assert "trial" in stages[arm]
    assert not finished(chip, "none").values
    assert not finished(chip, "trial").values


def test_what_the_task_stage_removed_is_never_proposed(tmp_path: Path) -> None:
    large, path = problem("ascend-910b1", "gemm:1024x1024x1024:float16"), tmp_path / "run.jsonl"
    execute(large, spec("task", trials=64, batch=64), path)
    log = Log(path)
    gone = {(r.sketch, r.decision): set(r.values) for r in log.values}
    assert gone
    for t in log.trials:
        for d in large.sketches[t.sketch].decisions:
            value = "x".join(str(v) for v in t.decisions[d.start : d.stop])
            assert value not in gone.get((t.sketch, d.name), ())


def test_the_same_seed_gives_the_same_bytes(finished: Runs, tmp_path: Path) -> None:
    chip = "a100-sxm-40gb"
    execute(problem(chip), spec("two-stage"), tmp_path / "again.jsonl")
    assert Log(tmp_path / "again.jsonl").bytes == finished(chip, "two-stage").bytes
    execute(problem(chip), spec("two-stage", seed=1), tmp_path / "other.jsonl")
    other = Log(tmp_path / "other.jsonl")
    assert [t.candidate for t in other.trials] != [
        t.candidate for t in finished(chip, "two-stage").trials
    ]


@pytest.mark.parametrize(("chip", "arm"), [("mlu370-s4", "none"), ("a100-sxm-40gb", "two-stage")])
@pytest.mark.parametrize("torn", [0, 40])
def test_a_stopped_run_is_resumed_to_the_same_bytes_and_measures_nothing_twice(
    finished: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chip: str, arm: str, torn: int
) -> None:
    expected = finished(chip, arm).bytes
    counted = _count_measurements(monkeypatch)
    path, rounds = tmp_path / "run.jsonl", iter([False, False, True])
    execute(problem(chip), spec(arm), path, stopped=lambda: next(rounds))
    before = Log(path)
    assert len(before.measured) == 2 * BATCH == len(counted)
    assert not isinstance(before.end, End)
    path.write_bytes(before.bytes[: len(before.bytes) - torn])
    lost = len(before.measured) - len(Log(path).measured)
    execute(problem(chip), spec(arm), path, resume=True)
    assert path.read_bytes() == expected
    assert len(counted) == TRIALS + lost
    assert lost == (1 if torn else 0)


def test_a_finished_run_is_resumed_without_a_measurement(
    finished: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(finished("ascend-910b1", "two-stage").bytes)
    counted = _count_measurements(monkeypatch)
    tally = execute(problem("ascend-910b1"), spec("two-stage"), path, resume=True)
    assert not counted
    assert tally.measured == TRIALS
    assert path.read_bytes() == finished("ascend-910b1", "two-stage").bytes


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_a_shut_gate_ends_only_a_search_that_prefers_what_the_model_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Round, "shut", property(lambda self: True))
    path = tmp_path / "run.jsonl"
    execute(problem("mlu370-s4"), spec("trial", strategy=name, trials=32), path)
    end = Log(path).end
    if STRATEGIES[name].guided:
        assert end.reason.startswith("converged")
        assert end.measured < 32
    else:
        assert end.reason == "budget"


def test_progress_is_told_after_every_round_and_at_the_end(tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []
    execute(
        problem("mlu370-s4"), spec("none"), tmp_path / "run.jsonl",
        progress=lambda *state: told.append(state),
    )  # fmt: skip
    assert [t[0] for t in told] == [8, 16, 20, 20]
    assert [t[-1] for t in told] == [False, False, False, True]


def _count_measurements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    counted: list[str] = []
    measure = SimBackend.measure

    def counting(self: SimBackend, jobs: Any, best_us: float) -> Any:
        counted.extend(job.candidate for job in jobs)
        return measure(self, jobs, best_us)

    monkeypatch.setattr(SimBackend, "measure", counting)
    return counted


RULE = """
    from dataclasses import dataclass
    from typing import ClassVar
    import numpy as np
    from pruner.rule import Finding

    @dataclass(frozen=True)
    class Mine:
        \"\"\"A user's rule.\"\"\"

        name: ClassVar[str] = "mine"
        stage: ClassVar[str] = "{stage}"
        joint: ClassVar[bool] = False
        backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
        hard: ClassVar[bool] = {hard}

        def check(self, {arguments}, chip):
            {answer}
"""
NOTHING_LEFT = (
    'return Finding(np.zeros({n}, bool), "x", np.full({n}, 2.0), np.ones({n}), "B",'
    ' "<script>never</script>")'
)


def rule_file(folder: Path, stage: str, *, hard: bool = False, answer: str | None = None) -> str:
    n = "table.n" if stage == "trial" else "len(decision.values)"
    arguments = "table" if stage == "trial" else "space, decision"
    answer = (answer or NOTHING_LEFT).replace("{n}", n)
    path = folder / "mine.py"
    text = dedent(RULE).format(stage=stage, hard=hard, arguments=arguments, answer=answer)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("hard", [False, True])
def test_a_trial_rule_that_leaves_nothing_is_named_and_the_safest_is_measured(
    tmp_path: Path, hard: bool
) -> None:
    rules = rule_file(tmp_path, "trial", hard=hard)
    path = tmp_path / "run.jsonl"
    execute(problem("mlu370-s4"), spec("trial", trials=4, rule_files=(rules,)), path)
    log = Log(path)
    assert len(log.measured) == 4
    assert log.end.reason == "budget"
    assert len(log.notes) == len(set(log.notes))
    assert any("mine left nothing of" in note and "safest" in note for note in log.notes)
    probes = [t for t in log.measured if t.verdict["probe"]]
    rescued = [t for t in log.measured if not t.verdict["probe"]]
    assert rescued
    assert all(t.verdict["rule"] == "mine" and t.verdict["keep"] for t in rescued)
    assert not (hard and probes)


@pytest.mark.parametrize("hard", [False, True])
def test_a_task_rule_that_leaves_nothing_is_named_and_something_is_left(
    tmp_path: Path, hard: bool
) -> None:
    rules = rule_file(tmp_path, "task", hard=hard)
    path = tmp_path / "run.jsonl"
    execute(problem("ascend-910b1"), spec("task", trials=4, rule_files=(rules,)), path)
    log = Log(path)
    assert log.measured
    assert all("mine" in note for note in log.notes)
    assert len(log.notes) == len(set(log.notes)) >= 3
    kept = {(t.sketch, tuple(t.decisions)) for t in log.trials}
    if hard:  # one value a decision: one candidate a sketch
        assert len(kept) == len(problem("ascend-910b1").sketches)
        assert log.end.reason == "space exhausted"
    else:
        assert len(log.measured) == 4


@pytest.mark.parametrize("stage", ["trial", "task"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("raise KeyError('<script>')", "KeyError: '<script>'"),
        ("return 7", "answered int, expected a Finding"),
    ],
)
def test_a_broken_rule_is_named_once_and_left_out(
    finished: Runs, tmp_path: Path, stage: str, answer: str, said: str
) -> None:
    rules = rule_file(tmp_path, stage, answer=answer)
    arm, path = stage, tmp_path / "run.jsonl"
    execute(problem("mlu370-s4"), spec(arm, rule_files=(rules,)), path)
    log, plain = Log(path), finished("mlu370-s4", arm)
    assert [n for n in log.notes if "mine" in n] == [n for n in log.notes if said in n]
    assert sum("mine" in n for n in log.notes) == 1
    assert [t.candidate for t in log.trials] == [t.candidate for t in plain.trials]


@pytest.mark.parametrize("strategy", ["evolutionary", "random"])
@pytest.mark.parametrize(
    ("chip", "shape"),
    [(c, "1x1x1") for c in CHIPS] + [("ascend-910b1", "7x13x11"), ("mlu370-s4", "7x13x11")],
)
def test_a_small_space_is_exhausted_to_the_last_candidate(
    tmp_path: Path, chip: str, shape: str, strategy: str
) -> None:
    small = problem(chip, f"gemm:{shape}:float16")
    path = tmp_path / "run.jsonl"
    execute(small, spec("none", trials=200, batch=16, strategy=strategy), path)
    log = Log(path)
    assert log.end.reason == "space exhausted"
    space = sum(s.size for s in small.sketches)
    assert len(log.trials) == len({t.candidate for t in log.trials}) == space <= 200
    assert any(t.measurement.failure is None for t in log.measured)


def test_a_space_of_prime_extents_larger_than_the_budget_takes_it(tmp_path: Path) -> None:
    small, path = problem("a100-sxm-40gb", "gemm:7x13x11:float16"), tmp_path / "run.jsonl"
    execute(small, spec("two-stage", trials=60), path)
    assert len(Log(path).measured) == 60


def test_what_tvm_cannot_replay_or_the_analysis_cannot_read_does_not_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, kernels = Sketch.replay, tir.kernels

    def broken_replay(self: Sketch, row: Any) -> Any:
        if row.sum() % 3 == 0:
            raise ScheduleError("a C++ stack\n  and more\nError message: the loop is not affine")
        return replay(self, row)

    def broken_reading(schedule: Any, *others: Any) -> Any:
        if len(str(schedule.mod)) % 2:
            raise tir.Unsupported("an odd program")
        return kernels(schedule, *others)

    fresh = Problem.of(resolve(GEMM), load_chip("ascend-910b1"))
    monkeypatch.setattr(Sketch, "road", "tir")  # every candidate is replayed
    monkeypatch.setattr(Sketch, "replay", broken_replay)
    monkeypatch.setattr("tuner.measure.tir.kernels", broken_reading)
    path = tmp_path / "run.jsonl"
    execute(fresh, spec("none"), path)
    log = Log(path)
    rejected = [t for t in log.trials if t.measurement is None]
    assert {t.verdict["rule"] for t in rejected} == {"ScheduleError"}
    assert rejected[0].verdict["reason"].endswith("the loop is not affine")
    unread = [t for t in log.measured if t.measurement.error == "compile_error: an odd program"]
    assert 0 < len(unread) < len(log.measured) == TRIALS


def test_a_run_in_which_tvm_rejects_everything_gives_up_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Sketch, row: Any) -> Any:
        raise ScheduleError("Error message: no")

    fresh = Problem.of(resolve(GEMM), load_chip("mlu370-s4"))
    monkeypatch.setattr(Sketch, "road", "tir")  # every candidate is replayed
    monkeypatch.setattr(Sketch, "replay", refuse)
    path = tmp_path / "run.jsonl"
    execute(fresh, spec("two-stage"), path)
    log = Log(path)
    assert log.end.measured == 0
    assert log.end.best_us is None
    assert log.end.reason.startswith("starved: ")
    assert "ScheduleError" in log.end.reason
    assert log.end.reason in log.notes


def test_what_tvm_does_not_confirm_never_becomes_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    replay = Sketch.replay

    def refuse_some(self: Sketch, row: Any) -> Any:
        if row.sum() % 2:
            raise ScheduleError("Error message: no")
        return replay(self, row)

    fresh = Problem.of(resolve(GEMM), load_chip("mlu370-s4"))
    assert all(s.road == "columns" for s in fresh.sketches)
    monkeypatch.setattr(Sketch, "replay", refuse_some)
    path = tmp_path / "run.jsonl"
    execute(fresh, spec("none"), path)
    log = Log(path)
    refused = [t for t in log.measured if t.measurement.failure == "compile_error"]
    assert refused
    assert all(sum(t.decisions) % 2 for t in refused if "no" in t.measurement.error)
    best = min(log.measured, key=lambda t: t.measurement.mean_us)
    assert sum(best.decisions) % 2 == 0
    assert "the columns road says" in caplog.text


def test_a_run_replays_and_runs_twice_only_what_may_be_its_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, replayed = Sketch.replay, []

    def counting(self: Sketch, row: Any) -> Any:
        replayed.append(self.hash(row))
        return replay(self, row)

    fresh = Problem.of(resolve(GEMM), load_chip("ascend-910b1"))
    assert all(s.road == "columns" for s in fresh.sketches)
    monkeypatch.setattr(Sketch, "replay", counting)
    path = tmp_path / "run.jsonl"
    execute(fresh, spec("none"), path)
    log = Log(path)
    best, promising = float("inf"), []
    for t in (t for t in log.measured if t.measurement.failure is None):
        first_run = t.measurement.latencies_us[: log.header.repeats]
        if np.mean(first_run) < best:
            promising.append(t.candidate)
            assert len(t.measurement.latencies_us) == 2 * log.header.repeats
        else:
            assert len(t.measurement.latencies_us) == log.header.repeats
        best = min(best, t.measurement.mean_us)
    assert replayed == promising


HEAD = """
from tvm import te, tirx
A = te.placeholder((32, 48), name="A")
X = te.placeholder((10,), name="X", dtype="int32")
"""
GATHER = "f = te.create_prim_func([A, X, te.compute((10, 48), lambda i, j: A[X[i], j])])\n"
SQUARE = (
    "f = te.create_prim_func([A, te.compute((32,), lambda i: A[i, tirx.indexmod(i * i, 48)])])\n"
)


def user_problem(folder: Path, program: str, chip: str) -> Problem:
    (folder / "mine.py").write_text(HEAD + program)
    return Problem.of(resolve(str(folder / "mine.py")), load_chip(chip))


def test_programs_off_the_columns_road_tune_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = user_problem(tmp_path, GATHER, "mlu370-s4")
    own.check_readable()
    assert own.sketches[0].road == "tir"
    read_one = Sketch.kernels

    def some(self: Sketch, matrix: Any) -> Any:
        if matrix.sum() % 2:
            raise tir.Unsupported("odd")
        return read_one(self, matrix)

    monkeypatch.setattr(Sketch, "kernels", some)
    path = tmp_path / "run.jsonl"
    execute(own, spec("two-stage", batch=16, strategy="random"), path)
    log = Log(path)
    assert len(log.measured) == TRIALS
    odd = [t for t in log.measured if sum(t.decisions) % 2]
    assert odd
    assert all(t.verdict is None for t in odd)  # unread, so that no rule could object


@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_that_cannot_be_simulated_is_refused(tmp_path: Path, chip: str) -> None:
    with pytest.raises(SpaceError, match=r"mine\.py:f.* cannot be simulated: index .*product of"):
        user_problem(tmp_path, SQUARE, chip).check_readable()
