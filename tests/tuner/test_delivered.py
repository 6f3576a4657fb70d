"""What tune delivers is read back by TVM in a process that knows nothing of the run."""

import subprocess
import sys

import pytest

from tuner.bench.folder import FolderError
from tuner.cli.app import run
from tuner.delivered import open_database

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
