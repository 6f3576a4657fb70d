"""Logs survive being torn, refuse foreign files, and resume to the same bytes."""

from pathlib import Path

import msgspec
import pytest

from traces import Header, LogError, LogWriter, Measurement, Trial, read

HEADER = Header(
    version="0", run="r", chip="c", chip_hash="h", workload="w", workload_hash="wh", arm="none",
    rule_set="default", rules_hash="rh", strategy="random", backend="sim", seed=0, trials=3,
    repeats=1, batch=1,
)  # fmt: skip


def trial(i: int) -> Trial:
    measurement = Measurement(latencies_us=[1.5 + i], compile_s=1.0, run_s=0.5)
    return Trial(
        index=i, round=0, candidate=f"c{i}", sketch=0, decisions=[1, i], measurement=measurement
    )


def write(path: Path, n: int, *, resume: bool = False) -> LogWriter:
    with LogWriter(path, HEADER, resume=resume) as log:
        for i in range(n):
            log.write(trial(i))
    return log


def test_reads_back_what_was_written(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", 3)
    records = list(read(tmp_path / "a.jsonl"))
    assert records[0] == HEADER
    assert records[1:] == [trial(0), trial(1), trial(2)]


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_torn_last_line_is_left_out_and_resume_gives_the_same_bytes(
    tmp_path: Path, cut: int
) -> None:
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    write(whole, 3)
    torn.write_bytes(whole.read_bytes()[:-cut])
    assert len(list(read(torn))) == 3
    log = write(torn, 3, resume=True)
    assert torn.read_bytes() == whole.read_bytes()
    assert set(log.known) == {"c0", "c1"}


def test_existing_log_is_not_touched_without_resume(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 2)
    before = path.read_bytes()
    with pytest.raises(LogError, match="--resume"):
        write(path, 2)
    assert path.read_bytes() == before


def test_log_of_another_run_is_refused_by_field(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 2)
    before = path.read_bytes()
    other = msgspec.structs.replace(HEADER, seed=9)
    with pytest.raises(LogError, match="seed is 0, this run has 9"):
        LogWriter(path, other, resume=True)
    assert path.read_bytes() == before


def test_log_that_would_differ_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 2)
    with LogWriter(path, HEADER, resume=True) as log, pytest.raises(LogError, match=":2:"):
        log.write(trial(1))


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"record":"trial"}\n', b"\x00\xff\n"])
def test_foreign_files_are_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(LogError, match=str(path)):
        list(read(path))


@pytest.mark.parametrize("content", [b"precious, no newline", b"precious\n"])
def test_resume_leaves_a_foreign_file_as_it_was(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(LogError, match="no header"):
        LogWriter(path, HEADER, resume=True)
    assert path.read_bytes() == content


def test_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, 2)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    with pytest.raises(LogError, match=":2:"):
        list(read(path))


def test_unwritable_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LogError, match="cannot be written"):
        write(tmp_path / "file" / "a.jsonl", 1)
