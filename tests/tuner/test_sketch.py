"""Sketches: decision vectors, their names, order, hashes and replay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import load_chip
from tuner import spaces
from tuner.sketch import DecisionError, Sketch
from tuner.workloads import resolve

SPEC, CHIP = "gemm:96x128x80:float32", "a100-sxm-40gb"


@pytest.fixture(scope="module")
def sketch():
    workload, chip = resolve(SPEC), load_chip(CHIP)
    return Sketch.from_schedule(spaces.design_space(workload, chip)[0], workload, chip, 0)


def products(sketch, matrix):
    return [
        matrix[:, d.start : d.stop].prod(axis=1)
        for d in sketch.decisions
        if d.kind == "perfect_tile"
    ]


def test_columns_have_readable_names(sketch):
    assert sketch.names[:5] == tuple(f"i.tile[{k}]" for k in range(5))
    assert sketch.names[-3:] == ("A_shared.vector", "B_shared.vector", "unroll")
    assert len(set(sketch.names)) == sketch.width


def test_samples_are_legal_and_reach_every_option(sketch):
    matrix = sketch.sample(np.random.default_rng(0), 5000)
    assert matrix.dtype == np.int64
    for product, extent in zip(products(sketch, matrix), (96, 128, 80), strict=True):
        assert (product == extent).all()
    assert np.array_equal(sketch.repair(matrix), matrix)
    for d in sketch.decisions:
        drawn = np.unique(matrix[:, d.start : d.stop], axis=0)
        assert len(drawn) > 0.9 * min(len(d.options()), 4000)


def test_unrank_enumerates_without_repetition(sketch):
    last = np.arange(sketch.size - 3000, sketch.size)
    matrix = sketch.unrank(np.concatenate([np.arange(3000), last]))
    assert len(np.unique(matrix, axis=0)) == 6000
    assert np.array_equal(sketch.repair(matrix), matrix)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_repair_gives_legal_rows_and_only_shrinks_inner_factors(sketch, seed):
    rng = np.random.default_rng(seed)
    wild = rng.integers(-3, 200, size=(20, sketch.width))
    fixed = sketch.repair(wild)
    assert np.array_equal(sketch.repair(fixed), fixed)
    for d in sketch.decisions:
        values = {tuple(o) for o in d.options().tolist()}
        assert {tuple(v) for v in fixed[:, d.start : d.stop].tolist()} <= values
        if d.kind == "perfect_tile":
            inner = slice(d.start + 1, d.stop)
            assert (fixed[:, inner] <= np.maximum(wild[:, inner], 1)).all()


def test_replay_takes_exactly_what_was_asked(sketch):
    for row in sketch.sample(np.random.default_rng(1), 3):
        assert np.array_equal(sketch.row_of(sketch.replay(row).trace), row)


def test_replay_refuses_what_tvm_would_silently_change(sketch):
    row = sketch.sample(np.random.default_rng(2), 1)[0]
    row[4] = 7
    with pytest.raises(DecisionError, match=r"i\.tile = .*not legal, TVM would take"):
        sketch.replay(row)


def test_hashes_tell_candidates_sketches_and_workloads_apart(sketch):
    row = sketch.sample(np.random.default_rng(3), 1)[0]
    workload = resolve("gemm:96x128x160:float32")
    schedules = spaces.design_space(workload, sketch.chip)
    others = [Sketch.from_schedule(s, workload, sketch.chip, i) for i, s in enumerate(schedules)]
    changed = row.copy()
    changed[-1] = (changed[-1] + 1) % 8
    hashes = {sketch.hash(row), sketch.hash(changed), *(o.hash(row) for o in others)}
    assert len(hashes) == 2 + len(others)


def test_hash_is_stable(sketch):
    # The same on every machine and in every process: logs of different runs are joined by it.
    assert sketch.hash(np.ones(sketch.width, dtype=np.int64)) == HASH


HASH = "faf5d61e382e44cc"
