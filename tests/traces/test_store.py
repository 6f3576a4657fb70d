"""The store: only ever longer, torn lines left out, a snapshot names what was there for ever."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces import LogError
from traces.store import Measured, Proven, Store


def measured(candidate: str, latency_us: float | None = 1.5, at: str = "") -> Measured:
    return Measured(
        chip="c", chip_hash="1", backend="gpu_sm", workload="w", workload_hash="2",
        candidate=candidate, run="r", latency_us=latency_us, features=[0.5, 1e-9], at=at,
    )  # fmt: skip


def proven(candidate: str, at: str = "") -> Proven:
    return Proven(
        workload="w", workload_hash="2", candidate=candidate, decisions=[1, 2],
        proof={"run_on": "small"}, versions={"analysis": "1"}, at=at,
    )  # fmt: skip


def test_what_was_added_comes_back_and_equals_are_added_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "store")
    assert store.snapshot() == Store(tmp_path / "other").snapshot()
    assert store.add([measured("a"), proven("a"), measured("a", 9.0), measured("b", None)]) == 3
    assert store.add([measured("a", 2.0), proven("a")]) == 0
    assert store.contents().measured == (measured("a"), measured("b", None))
    assert store.contents().proven == (proven("a"),)


def test_the_wall_clock_takes_no_part(tmp_path: Path) -> None:
    for name, at in (("one", "2026-01-01"), ("two", "2027-01-01")):
        Store(tmp_path / name).add([measured("a", at=at), proven("a", at=at)])
    assert Store(tmp_path / "one").snapshot() == Store(tmp_path / "two").snapshot()
    Store(tmp_path / "one").add([measured("b", 1.0)])
    Store(tmp_path / "two").add([measured("b", 2.0)])
    assert Store(tmp_path / "one").snapshot() != Store(tmp_path / "two").snapshot()


names = st.lists(st.text("abc", min_size=1, max_size=2), max_size=4)


@settings(max_examples=25, deadline=None)
@given(st.lists(names, min_size=1, max_size=4))
def test_a_snapshot_is_read_again_after_more_was_added(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]
) -> None:
    store, seen = Store(tmp_path_factory.mktemp("store")), []
    for batch in batches:
        store.add([*map(measured, batch), *map(proven, batch)])
        seen.append((store.snapshot(), store.contents()))
    assert [store.contents(snapshot) for snapshot, _ in seen] == [held for _, held in seen]


@pytest.mark.parametrize("torn", range(1, 60, 7))
def test_a_torn_last_line_is_left_out_and_cut_off(tmp_path: Path, torn: int) -> None:
    store = Store(tmp_path)
    store.add([measured("a")])
    before, path = store.snapshot(), tmp_path / "top100.jsonl"
    with open(path, "ab") as file:
        file.write(msgspec.json.encode(measured("b"))[:torn])
    assert store.snapshot() == before
    store.add([measured("c")])
    assert [m.candidate for m in store.contents().measured] == ["a", "c"]
    assert store.contents(before).measured == (measured("a"),)


def test_what_is_no_store_or_another_one_is_said_in_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add([measured("a"), measured("b")])
    taken = store.snapshot()
    path = tmp_path / "top100.jsonl"
    path.write_bytes(path.read_bytes().replace(b"1.5", b"1.4"))
    with pytest.raises(LogError, match="is not the store that the run had"):
        store.contents(taken)
    with pytest.raises(LogError, match=r"expected MEASURED\.PROVEN@HASH"):
        store.contents("../..")
    path.write_bytes(b'{"schema":2}\n' + path.read_bytes())
    with pytest.raises(LogError, match=r"top100\.jsonl:1: no line of a prunelab store"):
        store.contents()
