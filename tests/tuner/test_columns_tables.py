"""Looked up or computed: the same values."""

import numpy as np
import pytest

from hwsim.chips import load_chip
from tuner import spaces
from tuner.columns import tables
from tuner.columns.options import Options
from tuner.factors import factorisations
from tuner.sketch import Sketch
from tuner.workloads import resolve

TILES = factorisations(360, 4, 16)


def test_each_option_has_its_number():
    options = Options(TILES, start=2)
    order = np.random.default_rng(0).permutation(len(TILES))
    columns = np.concatenate([np.zeros((2, len(TILES)), dtype=np.int64), TILES[order].T])
    assert options(columns).tolist() == order.tolist()


@pytest.mark.parametrize("row", [(360, 1, 1, 0), (7, 1, 1, 1), (1, 1, 1, 360), (-1, 1, 1, 1)])
def test_what_is_no_option_has_no_number(row):
    assert Options(TILES, start=0)(np.array([row]).T).tolist() == [-1]


def test_locations_are_options_too():
    options = Options(np.array([[-2], [-1], [4]]), start=0)
    assert options(np.array([[-1, 4, 0, 5, -2, -3]])).tolist() == [1, 2, -1, -1, 0, -1]


@pytest.fixture(scope="module")
def sketch():
    workload, chip = resolve("gemm:96x64x160:float16"), load_chip("ascend-910b1")
    return Sketch.from_schedule(spaces.design_space(workload, chip)[0], workload, chip, 0)


def test_tables_of_any_size_give_the_same_columns(sketch, monkeypatch):
    rows = sketch.sample(np.random.default_rng(1), 3000)  # more than are evaluated at a time
    found = []
    for combinations in (0, 40, 8192):
        monkeypatch.setattr(tables, "ROWS", combinations)
        road = Sketch.from_schedule(
            spaces.design_space(sketch.workload, sketch.chip)[0], sketch.workload, sketch.chip, 0
        )
        found.append(road.kernels(rows))
    for table in found[1:]:
        for name in table:
            np.testing.assert_array_equal(table[name], found[0][name], err_msg=name)


def test_a_vector_outside_the_space_is_computed(sketch):
    inside = sketch.sample(np.random.default_rng(1), 1)
    outside = inside.copy()
    first = sketch.decisions[0]
    outside[0, first.start : first.stop] = [2 * first.extent, *[1] * (first.parts - 1)]
    both = sketch.kernels(np.concatenate([inside, outside]))
    assert both.take_candidates([0])["macs"] == sketch.kernels(inside)["macs"]
    assert both["macs"][1] > both["macs"][0]
