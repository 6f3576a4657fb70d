"""``prunelab chips``: every number has its source, and a file with a mistake is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .said import ASCEND, BENCH, UB, Cli, refused


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("[", "[[", ()),
        (UB, f"{UB}\nfrobs = 3", ("`$.frobs`", "no source")),
        (UB, f'{UB}\nfrobs = {{ value = 3, mark = "V", source = "a book" }}',
         ("unknown field `$.frobs`",)),
        (UB, "", ("missing field `$.ub_kib`",)),
        (UB, "ub_kib = 192", ("`$.ub_kib` has no source", "expected { value")),
        (UB, re.sub(r"value = \d+", "value = -5", UB), ("`$.ub_kib`", ">= 1")),
        (UB, re.sub(r"value = \d+", "value = 0", UB), ("`$.ub_kib`", ">= 1")),
        (UB, re.sub(r"value = \d+", "value = inf", UB), ("`$.ub_kib`", "finite")),
        (UB, re.sub(r'mark = "."', 'mark = "X"', UB), ("`$.ub_kib.mark`", "'X'")),
        ('backend = "ascend_cube"', 'backend = "tpu"', ("`$.backend`", "'tpu'", "expected one of")),
        ('name = "ascend-910b1"', 'name = "A/../B"', ("`$.name`",)),
    ],
)  # fmt: skip
def test_a_chip_file_with_a_mistake_in_it(
    cli: Cli, tmp_path: Path, before: str, after: str, parts: tuple[str, ...]
) -> None:
    assert before in ASCEND
    path = tmp_path / "mine.toml"
    path.write_text(ASCEND.replace(before, after, 1))
    refused(cli(*BENCH, "--chip", path, "--out", tmp_path / "out"), str(path), *parts)
    refused(cli("chips", path), str(path), *parts)
    assert not (tmp_path / "out").exists()


def test_every_number_of_a_chip_has_a_mark_and_a_source(cli: Cli) -> None:
    facts = json.loads(cli("chips", "mlu370-s4", "--format", "json").out)
    numbers = [f for f in facts if not isinstance(f["value"], str)]
    assert len(numbers) > 30
    assert all(f["mark"] in "VSDRCA" and f["source"] for f in numbers)
    listed = json.loads(cli("chips", "--format", "json").out)
    assert {"ascend-910b1", "mlu370-s4", "a100-sxm-40gb"} <= {c["name"] for c in listed}
