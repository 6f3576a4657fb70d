"""Kernel tables: declared columns only, rows and candidates kept apart, nothing shared."""

import numpy as np
import pytest

from hwsim.columns import BACKENDS, columns_of
from hwsim.table import KernelTable


def two_candidates() -> KernelTable:
    """Candidate 0 launches two kernels, candidate 1 one."""
    return KernelTable.of("gpu_sm", candidate=[0, 0, 1], blocks=[1, 2, 3], macs=[5.0, 6.0, 7.0])


def test_columns_that_were_not_given_have_their_declared_default() -> None:
    table = KernelTable.of("gpu_sm", macs=[1.0, 2.0])
    assert table["blocks"].tolist() == [1, 1]
    assert table["candidate"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"nonsense": [1]}, "unknown for backend"),
        ({"blocks": [1, 2], "macs": [1.0, 2.0, 3.0]}, "shape"),
        ({"macs": [np.nan]}, "not finite"),
        ({"blocks": [-1]}, "negative"),
    ],
)
def test_what_is_not_declared_or_absurd_is_refused_by_name(columns, message) -> None:
    with pytest.raises(ValueError, match=message):
        KernelTable.of("gpu_sm", **columns)
    with pytest.raises(ValueError, match="expected one of"):
        KernelTable.of("abacus")


def test_candidates_are_sums_of_their_rows_and_can_be_taken_in_any_order() -> None:
    table = two_candidates()
    assert table.per_candidate(table["macs"]).tolist() == [11.0, 7.0]
    assert table.per_candidate(table["blocks"], np.maximum).tolist() == [2, 3]
    turned = table.take_candidates([1, 0])
    assert turned["blocks"].tolist() == [3, 1, 2]
    assert turned["candidate"].tolist() == [0, 1, 1]
    assert table.take_candidates([0])["blocks"].tolist() == [1, 2]


def test_joining_keeps_candidates_apart() -> None:
    joined = KernelTable.concat([two_candidates(), two_candidates()])
    assert joined["candidate"].tolist() == [0, 0, 1, 2, 2, 3]
    assert joined.n_candidates == 4


def test_a_frozen_table_refuses_to_be_written_to_and_leaves_the_original_open() -> None:
    table = two_candidates()
    frozen = table.frozen()
    with pytest.raises(ValueError, match="read-only"):
        frozen["blocks"][:] = 7
    assert frozen["blocks"].tolist() == table["blocks"].tolist() == [1, 2, 3]
    table["blocks"][0] = 9


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_column_says_its_unit_and_meaning(backend: str) -> None:
    for column in columns_of(backend).values():
        assert column.unit
        assert column.doc
        assert column.dtype in ("int64", "float64")
