"""Kernels by hand: parameters as text become the table that the constructor makes, or one line."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.by_hand import ParameterError, kernels_of, table_by_hand
from hwsim.chips import load_chip
from hwsim.columns import BACKENDS
from hwsim.simulation import simulate_both

BY_HAND = {
    ("ascend-910b1", "matmul"): "m=1024,n=1024,k=1024,dtype=float16,split_m=4,split_n=6,base_m=128,"
    "base_n=256,base_k=64",
    ("ascend-910b1", "elementwise"): "elements=1048576,dtype=float16,blocks=48,tile_elements=8192",
    ("mlu370-x4", "matmul"): "m=1024,n=1024,k=1024,tile_m=128,tile_n=256,tile_k=128,union=true",
    ("mlu370-x4", "elementwise"): "elements=1048576,piece=65536,inputs=2",
    ("rtx-3090", "matmul"): "m=1024,n=1024,k=1024,tile_m=128,tile_n=128,threads=256",
    ("rtx-3090", "clblast"): "MWG=64,NWG=64,KWG=32,MDIMC=16,NDIMC=16,MDIMA=16,NDIMB=16,VWM=2,VWN=2,"
    "SA=1,SB=0,m=1024,n=1024,k=1024",
    ("rtx-3090", "convolution"): "block_x=32,block_y=4,tile_x=2,tile_y=4,height=512,width=512",
    ("rtx-3090", "rowwise"): "rows=4096,columns=1024,threads=128,reads=3",
}


def pairs(text: str) -> dict[str, str]:
    return dict(part.split("=") for part in text.split(","))


def test_every_kernel_is_listed_here() -> None:
    listed = {(load_chip(chip).backend, kernel) for chip, kernel in BY_HAND}
    assert listed == {(backend, kernel) for backend in BACKENDS for kernel in kernels_of(backend)}


@pytest.mark.parametrize(("chip_name", "kernel"), BY_HAND)
def test_a_kernel_by_hand_runs_in_both_models(chip_name: str, kernel: str) -> None:
    chip = load_chip(chip_name)
    found = simulate_both(table_by_hand(chip, kernel, pairs(BY_HAND[chip_name, kernel])), chip)
    assert np.isfinite(found.latency_us)
    assert found.events_us == pytest.approx(found.latency_us, rel=0.5)


def test_text_gives_the_constructors_table() -> None:
    chip = load_chip("ascend-910b1")
    text = BY_HAND["ascend-910b1", "matmul"]
    by_hand = table_by_hand(chip, "matmul", pairs(text) | {"trans_b": "true"})
    tiling = MatmulTiling(split_m=4, split_n=6, base_m=128, base_n=256, base_k=64)
    made = matmul_table(1024, 1024, 1024, "float16", tiling, trans_b=True)
    assert by_hand.row(0) == made.row(0)


@pytest.mark.parametrize(
    ("chip_name", "kernel", "change", "message"),
    [
        ("ascend-910b1", "gemm", "", "kernel 'gemm': ascend_cube has matmul, elementwise"),
        ("ascend-910b1", "matmul", "base=1", "no parameter 'base'; did you mean base_"),
        ("ascend-910b1", "matmul", "base_m=0", "base_m='0', expected a whole number from 1 to"),
        ("ascend-910b1", "matmul", "m=1000000000,n=1000000000,k=1000000000", "fewer than 2^63"),
        ("mlu370-x4", "matmul", "m=1000000000,n=1000000000,k=1000000000", "fewer than 2^63"),
        ("rtx-3090", "matmul", f"m={2**40 - 1},n={2**40 - 1},k={2**40 - 1}", "fewer than 2^63"),
        ("rtx-3090", "matmul", f"m={2**62 - 1}", "expected a whole number from 1 to below 2^40"),
        ("rtx-3090", "convolution", "staged=2", "staged='2', expected true or false"),
        ("rtx-3090", "clblast", "SA=2", "SA='2', expected true or false"),
        ("rtx-3090", "matmul", "bits=7", "matmul: bits='7', expected 8, 16 or 32"),
        ("rtx-3090", "rowwise", "bits=64", "rowwise: bits='64', expected 8, 16 or 32"),
        ("mlu370-x4", "matmul", "in_bits=9", "matmul: in_bits='9', expected 8, 16 or 32"),
        ("ascend-910b1", "matmul", "base_m=1.5", "base_m='1.5', expected a whole number"),
        ("ascend-910b1", "matmul", "m=99999999999999999999", "expected a whole number"),
        ("ascend-910b1", "matmul", "dtype=float17", "dtype 'float17'"),
        ("ascend-910b1", "matmul", "trans_b=yes", "trans_b='yes', expected true or false"),
        ("mlu370-x4", "matmul", "sram_b=1,union=0", "need union"),
        ("mlu370-x4", "matmul", "k_share=2", "k_share is 2.0"),
        ("rtx-3090", "clblast", "MWG=48", "MWG is 48, expected a multiple of 32"),
    ],
)
def test_mistakes_are_one_line(chip_name: str, kernel: str, change: str, message: str) -> None:
    given = pairs(BY_HAND.get((chip_name, kernel), "m=1")) | (pairs(change) if change else {})
    with pytest.raises(ParameterError) as error:
        table_by_hand(load_chip(chip_name), kernel, given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ParameterError, match="matmul: missing tile_n, tile_k"):
        table_by_hand(load_chip("mlu370-x4"), "matmul", pairs("m=1,n=1,k=1,tile_m=1"))
