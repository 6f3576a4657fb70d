"""What tune delivers is read back by TVM in a process that knows nothing of the run."""

import subprocess
import sys

import numpy as np
import pytest

from hwsim.chips import load_chip
from traces import Measurement, Trial
from tuner.bench.folder import FolderError
from tuner.cli.app import run
from tuner.deliver import deliver
from tuner.delivered import open_database
from tuner.problem import Problem
from tuner.workloads import resolve

READ = """
import sys, tvm
from tuner.delivered import best_schedule, open_database
database, best = open_database(sys.argv[1]), best_schedule(sys.argv[1])
record = database.get_all_tuning_records()
assert len(record) > 0
top = min(record, key=lambda r: sum(float(s) for s in r.run_secs) / len(r.run_secs))
schedule = tvm.s_tir.Schedule(top.workload.mod)
top.trace.apply_to_schedule(schedule, remove_postproc=False)
tvm.ir.assert_structural_equal(schedule.mod, best.mod)
print("equal")
"""


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4", "a100-sxm-40gb"])
def test_database_and_best_schedule_are_read_back(chip, tmp_path):
    out = tmp_path / "out"
    arguments = ["tune", "--chip", chip, "--workload", "gemm:128x128x128:float16"]
    assert run([*arguments, "--trials", "16", "--no-check", "--out", str(out)]) == 0
    done = subprocess.run(
        [sys.executable, "-c", READ, str(out)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip().endswith("equal"), done.stderr[-2000:]


def test_a_folder_without_a_result_is_one_clear_error(tmp_path):
    with pytest.raises(FolderError, match=r"no best\.json"):
        open_database(tmp_path)


def test_what_tvm_refuses_to_replay_is_not_delivered(tmp_path):
    spec, chip = "conv2d_bias:1x14x14x64x256x1x1x2x0:int8", load_chip("a100-sxm-40gb")
    problem = Problem.of(resolve(spec), chip)
    right = [1, 1, 2, 1, 2, 1, 4, 4, 1, 1, 2, 1, 2, 2, 0, 2, 2]
    refused = [1, 1, 4, 1, 1, 8, 2, 1, 1, 1, 1, 1, 4, 3, 4, 3, 5]
    assert problem.lower(1, np.array(refused)).rejected_by == "ScheduleError"
    trials = [
        Trial(
            index=i, round=0, candidate=str(i), sketch=1, decisions=decisions,
            measurement=Measurement(latencies_us=[1.0 + i]),
        )
        for i, decisions in enumerate((right, refused))
    ]  # fmt: skip
    assert deliver(problem, trials, tmp_path)["decisions"] == right
    assert len((tmp_path / "database/database_tuning_record.json").read_text().splitlines()) == 1
