"""A network's tasks under TVM's task scheduler: turns, budget, resume, sums."""

from itertools import count

import pytest

from hwsim.chips import load_chip
from traces import End, Measurement, Trial, read
from tuner.defaults import default_schedules
from tuner.loop import BUDGET
from tuner.networks import Network
from tuner.networks.attainable import argument_bytes, attainable_us
from tuner.networks.results import total, write_network
from tuner.networks.scheduler import schedule
from tuner.networks.tuning import SPENT, NetworkPlan, prepare, round_size, tune_network
from tuner.problem import Problem
from tuner.replay import verify
from tuner.spaces import SpaceError
from tuner.workloads import resolve

CHIP = load_chip("mlu370-s4")
TINY = Network.of_specs("tiny", ["add:64x64", "softmax:64x64", "add:64x64"])
PLAN = NetworkPlan(
    chips=("mlu370-s4",),
    workloads=("add:64x64", "softmax:64x64"),
    arms=("two-stage",),
    seeds=1,
    trials=42,
    batch=8,
    network="tiny",
)


@pytest.fixture(scope="module")
def program():
    from tvm.s_tir import Schedule

    return Schedule(resolve("add:8x8").prim_func()).mod


class Turns:
    """Stands in for a task: two measurements a turn at a latency that never falls."""

    def __init__(self, latency_us, turns=1000, failure=None):
        self.latency_us, self.left, self.given, self.failure = latency_us, turns, 0, failure

    def __call__(self):
        if self.failure and self.given:
            raise self.failure
        if self.given == self.left:
            return []
        self.given += 1
        return [Measurement(latencies_us=[self.latency_us])] * 2


def test_the_heaviest_task_gets_most_turns_and_the_budget_holds(program):
    tasks = [Turns(100.0), Turns(10.0), Turns(10.0)]
    schedule([program] * 3, [1, 1, 5], tasks, 60, 0)
    assert sum(2 * t.given for t in tasks) == 60
    assert tasks[0].given > tasks[2].given > tasks[1].given >= 1


def test_tasks_that_are_over_leave_their_turns_to_the_others(program):
    tasks = [Turns(100.0, turns=0), Turns(100.0, turns=2), Turns(1.0)]
    schedule([program] * 3, [1, 1, 1], tasks, 20, 0)
    assert [t.given for t in tasks] == [0, 2, 8]
    everything_over = [Turns(1.0, turns=1)]
    schedule([program], [1], everything_over, 20, 0)
    assert everything_over[0].given == 1


def test_what_a_turn_raises_comes_out_as_it_is(program):
    with pytest.raises(SpaceError, match="said so"):
        schedule([program], [1], [Turns(1.0, failure=SpaceError("said so"))], 20, 0)


def logs(folder):
    return {p.name: p.read_bytes() for p in sorted((folder / "runs").iterdir())}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    tasks, untuned = prepare(TINY, CHIP)
    runs = tune_network(tasks, PLAN, out)
    return out, tasks, runs, write_network(out, PLAN, TINY, runs, untuned)


def test_one_budget_one_log_a_task_all_closed(tuned):
    out, _, runs, _ = tuned
    assert PLAN.trials % PLAN.batch  # the last round is a smaller one
    assert sum(run.loop.tally.measured for run in runs) == PLAN.trials
    assert all(run.loop.tally.measured for run in runs)
    for run in runs:
        *_, last = read(run.log)
        assert isinstance(last, End)
    assert len(logs(out)) == 2


def test_interrupted_and_resumed_logs_are_those_of_an_uninterrupted_run(tuned, tmp_path):
    out, tasks, _, _ = tuned
    asked = count()
    tune_network(tasks, PLAN, tmp_path, stopped=lambda: next(asked) >= 3)
    part = logs(tmp_path)
    assert part != logs(out)
    tune_network(tasks, PLAN, tmp_path, resume=True)
    assert logs(tmp_path) == logs(out)


def test_every_task_can_have_several_rounds():
    assert round_size(1000, 27) == 9
    assert round_size(20, 27) == 1


def test_the_default_schedules_are_measured_first(tuned):
    _, tasks, runs, content = tuned
    for task, run, row in zip(tasks, runs, content["tasks"], strict=True):
        defaults = [(d.sketch, d.row.tolist()) for d in default_schedules(task.problem)]
        trials = [r for r in read(run.log) if isinstance(r, Trial)]
        assert [(t.sketch, t.decisions) for t in trials[: len(defaults)]] == defaults
        assert row["default_us"] == pytest.approx(
            min(t.measurement.mean_us for t in trials[: len(defaults)]), rel=1e-5
        )
        assert row["tuned_us"] <= row["default_us"]


def test_vectors_of_a_default_are_halved_where_no_side_runs_with_the_widest():
    workload = resolve("conv2d_bias:1x14x14x64x256x1x1x2x0:int8")
    problem = Problem.of(workload, load_chip("a100-sxm-40gb"))
    found = default_schedules(problem)
    assert [d.sketch for d in found] == [s.index for s in problem.sketches]
    for default, sketch in zip(found, problem.sketches, strict=True):
        lanes = [d for d in sketch.decisions if d.name.endswith(".vector")]
        assert max(d.candidates[default.row[d.start]] for d in lanes) < max(lanes[0].candidates)
        assert problem.lower(default.sketch, default.row).rejection is None


def test_a_tasks_run_comes_out_again_from_its_log(tuned):
    _, _, runs, _ = tuned
    ends = [[*read(run.log)][-1].reason for run in runs]
    assert sorted(ends) == [BUDGET, SPENT]
    assert [verify(run.log).difference for run in runs] == [None, None]


def test_sums_are_weighted_and_within_the_roofline(tuned):
    out, _, _, content = tuned
    rows, whole = content["tasks"], content["total"]
    assert [r["weight"] for r in rows] == [2, 1]
    defaults_us = 2 * rows[0]["default_us"] + rows[1]["default_us"]
    assert whole["default_us"] == pytest.approx(defaults_us, rel=1e-5)  # all have six digits
    assert whole["speedup"] == pytest.approx(whole["default_us"] / whole["tuned_us"], rel=1e-5)
    assert all(0 < r["attainable_share"] + r["launch_share"] < 1 for r in [*rows, whole])
    assert all((out / r["schedule"]).is_file() and (out / r["log"]).is_file() for r in rows)


def test_tasks_without_a_latency_are_counted_and_left_out_of_the_sums():
    row = {"weight": 2, "default_us": 8.0, "tuned_us": 4.0, "attainable_us": 1.0, "launch_us": 2.0}
    row |= {"measured": 3, "pruned": 0, "failed": 0, "virtual_s": 1.0}
    found = total([row, row | {"tuned_us": None}])
    assert (found["tasks"], found["left_out"], found["measured"]) == (1, 1, 6)
    assert (found["default_us"], found["speedup"]) == (16.0, 2.0)
    assert (found["attainable_share"], found["launch_share"]) == (0.25, 0.5)


def test_attainable_time_by_hand():
    chip = load_chip("a100-sxm-40gb")
    cube = resolve("gemm:4096x4096x4096:float16")
    macs_per_us = chip.sms * chip.tensor_macs_sm["float16"] * chip.clock_mhz
    assert attainable_us(cube, chip) == pytest.approx(4096**3 / macs_per_us)
    long = resolve("add:65536x4096:float16")
    assert argument_bytes(long) == 3 * 65536 * 4096 * 2
    assert attainable_us(long, chip) == pytest.approx(argument_bytes(long) / chip.dram_gbps / 1e3)


def test_arguments_wait_in_a_cache_but_in_no_scratchpad():
    gpu, mlu = load_chip("a100-sxm-40gb"), load_chip("mlu370-x8")
    small = resolve("add:256x256:float16")
    moved = argument_bytes(small)
    assert moved < mlu.sram_bytes < gpu.l2_kib * 1024
    assert attainable_us(small, gpu) == pytest.approx(moved / (gpu.l2_bytes_clk * gpu.clock_mhz))
    assert attainable_us(small, mlu) == pytest.approx(moved / (mlu.ddr_gbps * 1e3))
