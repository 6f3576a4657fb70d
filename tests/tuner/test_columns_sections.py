"""Steps run for the rows of the sections that need their values."""

import numpy as np

from tuner.columns.evaluate import Plan, Step
from tuner.columns.expr import add, column, mul
from tuner.columns.options import Options
from tuner.columns.sections import Sections
from tuner.columns.tables import Tables

ROWS = np.arange(1, 13).reshape(6, 2)  # sections of 2, 0, 3 and 1 rows
BOUNDS = [0, 2, 2, 5, 6]


def test_a_step_runs_from_the_first_to_the_last_section_that_needs_it():
    ran = []

    def double(x):
        ran.append(x.tolist())
        return 2 * x

    steps = [Step(double, (0,), out) for out in (1, 2, 3)] + [Step(np.add, (1, 2), 4)]
    sections = Sections(steps, [[1], [], [4], [2]], given=[0])
    slots = [np.arange(6), None, None, None, None]
    sections.run(slots, BOUNDS)
    assert ran == [[0, 1, 2, 3, 4], [2, 3, 4, 5]]  # 3 is needed by none
    assert [s if s is None else s.tolist() for s in slots] == [
        None, [0, 2, 4, 6, 8], [4, 6, 8, 10], None, [8, 12, 16],
    ]  # fmt: skip


def test_a_section_without_rows_costs_no_call():
    def refuse(x):
        raise AssertionError("ran")

    Sections([Step(refuse, (0,), 1)], [[], [1], [], []], [0]).run([np.arange(6), None], BOUNDS)


def test_each_section_gets_its_values_inside_and_outside_the_options():
    a, b = column(0, 0, 12), column(1, 1, 12)
    product, total = mul(a, b), add(a, b)
    one, two, three = add(product, total), mul(product, product), add(total, mul(total, total))
    asked = [[one], [], [two, three], [three]]
    for known in (12, 6):  # all rows are options, or those of the first half are
        options = [Options(np.arange(1, known + 1)[:, None], start) for start in (0, 1)]
        values = Tables(Plan([one, two, three]), options, asked)(ROWS, BOUNDS)
        x, y = ROWS.T
        expected = {
            one: (0, (x * y + x + y)[:2]),
            two: (2, ((x * y) ** 2)[2:5]),
            three: (2, (x + y + (x + y) ** 2)[2:]),
        }
        assert values.keys() == expected.keys()
        for e, (first, found) in values.items():
            assert first == expected[e][0]
            assert found.tolist() == expected[e][1].tolist()
