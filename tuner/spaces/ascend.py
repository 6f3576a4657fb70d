"""Design space of an Ascend chip: products on the cube, everything else on the vector unit.

Scopes: ``global`` (GM), ``shared.l1``, ``local.l0a``, ``local.l0b``, ``local.l0c``, ``local.ub``;
blockIdx.x counts tiles that are dealt to the cores.
"""

from __future__ import annotations

from tvm.s_tir import Schedule
from tvm.target import Target

from hwsim.ascend_cube.chip import AscendChip
from tuner.spaces import ascend_matmul, vector
from tuner.spaces.intrinsics import MatrixUnit
from tuner.spaces.matmul_like import main_blocks
from tuner.spaces.vector_tiles import VectorUnit
from tuner.workloads.workload import ACCUMULATOR


def target(chip: AscendChip) -> Target:
    """TVM knows no Ascend: an ``ext_dev`` that carries the chip's name."""
    return Target({"kind": "ext_dev", "keys": ["ascend", "npu"], "model": chip.name})


def cube(chip: AscendChip, dtype: str) -> MatrixUnit | None:
    """The cube's instruction for inputs of ``dtype``; None where the cube has none."""
    if dtype not in chip.cube_k:
        return None
    return MatrixUnit(
        chip_family="ascend",
        m=chip.cube_m,
        n=chip.cube_n,
        k=chip.cube_k[dtype],
        dtype=dtype,
        accumulator=ACCUMULATOR[dtype],
        scope_a="local.l0a",
        scope_b="local.l0b",
        scope_c="local.l0c",
    )


def sketches(sch: Schedule, dtype: str, chip: AscendChip) -> list[Schedule]:
    """Three cube sketches for a product of ``dtype``, vector sketches for all else."""
    unit = cube(chip, dtype)
    products = main_blocks(sch)
    if unit is not None and len(products) == 1:
        found = ascend_matmul.sketches(sch, products[0], unit, chip.cube_cores)
        if found:
            return found
    return vector.sketches(sch, VectorUnit("local.ub", chip.vector_cores))
