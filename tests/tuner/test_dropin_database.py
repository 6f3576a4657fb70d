"""TVM's JSON database as users find it: torn, with blank lines, of another chip."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from hwsim.chips import load_chip
from tuner import spaces
from tuner.dropin import TuneError
from tuner.dropin.database import RECORDS, WORKLOADS, check_target, mend, open_database
from tuner.workloads import resolve

MOD = Schedule(resolve("gemm:16x16x16:float16").prim_func()).mod
ASCEND, MLU = (spaces.target(load_chip(name)) for name in ("ascend-910b1", "mlu370-s4"))


@pytest.fixture
def folder(tmp_path):
    """A database with two records."""
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    workload = database.commit_workload(MOD)
    for seconds in (1e-6, 2e-6):
        trace = Schedule(MOD).trace
        info = ms.arg_info.ArgInfo.from_prim_func(MOD["main"])
        record = ms.database.TuningRecord(trace, workload, [seconds], ASCEND, info)
        database.commit_tuning_record(record)
    return tmp_path


def records(folder) -> int:
    database, _ = open_database("json", folder, "structural")
    return len(database)


def test_a_sound_database_is_left_alone(folder):
    before = (folder / RECORDS).read_bytes()
    assert open_database("json", folder, "structural")[1] == []
    assert (folder / RECORDS).read_bytes() == before
    assert records(folder) == 2


@pytest.mark.parametrize("name", [RECORDS, WORKLOADS])
@pytest.mark.parametrize("junk", [b"\n", b"\n\n", b"  \n", b'[0, [[["Get', b'\n[0, [["x"\n'])
def test_blank_and_torn_lines_are_taken_out_before_tvm_sees_them(folder, name, junk):
    with open(folder / name, "ab") as file:
        file.write(junk)
    _, notes = open_database("json", folder, "structural")
    assert len(notes) == 1
    assert "taken out" in notes[0]
    assert records(folder) == 2


def test_what_is_written_after_a_torn_line_stays_readable(folder):
    with open(folder / RECORDS, "ab") as file:
        file.write(b'[0, [["torn')
    database, _ = open_database("json", folder, "structural")
    database.commit_tuning_record(database.get_all_tuning_records()[0])
    assert records(folder) == 3


def test_a_damaged_line_in_the_middle_is_named(folder):
    path = folder / RECORDS
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second[:20]}\n{second}\n")
    with pytest.raises(TuneError, match=rf"{RECORDS}:2: damaged, expected JSON"):
        records(folder)


def test_a_record_of_no_workload_is_named(folder):
    (folder / WORKLOADS).write_text("")
    with pytest.raises(TuneError, match=r":1: workload 0, expected one of the 0"):
        records(folder)


@given(st.lists(st.sampled_from(["{}", "[1, 2]", "", "  "])), st.sampled_from(["", "[1,", "7"]))
def test_mending_keeps_every_whole_line(tmp_path_factory, whole, torn):
    path = tmp_path_factory.mktemp("mend") / "lines.json"
    path.write_text("".join(f"{line}\n" for line in whole) + torn)
    mend(path)
    expected = [line for line in whole if line.strip()] + (["7"] if torn == "7" else [])
    assert path.read_text() == "".join(f"{line}\n" for line in expected)
    assert mend(path) is None


def test_two_targets_do_not_share_a_database(folder):
    database, _ = open_database("json", folder, "structural")
    check_target(database, [MOD], ASCEND)
    with pytest.raises(TuneError, match=r"another target.*ascend-910b1.*mlu370-s4"):
        check_target(database, [MOD], MLU)
    other = Schedule(resolve("gemm:32x16x16:float16").prim_func()).mod
    check_target(database, [other], MLU)
