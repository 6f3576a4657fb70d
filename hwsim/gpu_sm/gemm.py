"""Kernel tables of a CLBlast-style GEMM, from its 14 tuning parameters.

Semantics: CLBlast's Xgemm kernel (Nugteren 2018) with ``STRM = STRN = 0``: ``C = alpha A B + beta
C``.  A is stored with m fastest, B with n fastest, C with m fastest.  The fast block index runs
along m, which is therefore the column side (``b``, ``grid_n``, ``tile_n``) of the kernel table.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.table import KernelTable

Ints = NDArray[np.int64]
_F32 = 4


def clblast_gemm(
    parameters: Mapping[str, ArrayLike], m: int = 4096, n: int = 4096, k: int = 4096
) -> KernelTable:
    """Table of fp32 GEMMs.

    ``parameters`` holds ``(n,)`` integer columns MWG, NWG, KWG, MDIMC, NDIMC, MDIMA, NDIMB, VWM,
    VWN, SA, SB (KWI, STRM, STRN are accepted and not needed); ``m, n, k`` are multiples of the
    block tile.
    """
    p = {key: np.atleast_1d(np.asarray(v, np.int64)) for key, v in parameters.items()}
    threads = p["MDIMC"] * p["NDIMC"]
    mwi, nwi = p["MWG"] // p["MDIMC"], p["NWG"] // p["NDIMC"]
    steps = k // p["KWG"]
    grid_n, grid_m = m // p["MWG"], n // p["NWG"]
    rows = len(threads)
    columns: dict[str, ArrayLike] = {
        "flops": np.full(rows, 2.0 * m * n * k),
        "macs": 1.0 * m * n * k, "macs_useful": 1.0 * m * n * k,
        "blocks": grid_m * grid_n, "grid_m": grid_m, "grid_n": grid_n,
        "tile_m": p["NWG"], "tile_n": p["MWG"], "tile_k": p["KWG"], "k_steps": steps,
        "reduce_length": k, "reduce_inner": p["KWG"], "threads": threads,
        "vector_lanes": np.maximum(p["VWM"], p["VWN"]),
        "shared_bytes": 1.0 * _F32 * p["KWG"] * (p["SA"] * p["MWG"] + p["SB"] * p["NWG"]),
        "acc_regs": mwi * nwi, "operand_regs": 2 * (mwi + nwi),  # this and the next step of k
        "barriers": 2 * steps * (p["SA"] | p["SB"]),
    }  # fmt: skip
    side_m = (p["MWG"], p["MDIMA"], mwi, p["VWM"], p["SA"], m, _F32 * mwi, 0 * mwi)
    side_n = (p["NWG"], p["NDIMB"], nwi, p["VWN"], p["SB"], n, 0 * nwi, _F32 * nwi)
    for operand, side in (("b", side_m), ("a", side_n)):
        columns.update(_operand(operand, threads, p["MDIMC"], p["KWG"], k, side))
    columns.update(_output("x_global_local", p, mwi, nwi, threads, m, n))
    columns.update(_output("c_local_global", p, mwi, nwi, threads, m, n))
    return KernelTable.of("gpu_sm", **columns)


def _operand(
    name: str, threads: Ints, run: Ints, kwg: Ints, k: int, side: tuple[Ints | int, ...]
) -> dict[str, ArrayLike]:
    """Columns of one input: staged through shared memory or read straight to registers."""
    tile, dim, mine, lanes, staged, extent, stride1, stride2 = side
    along, deep = tile // dim, kwg * dim // threads  # elements of a thread in one staging step
    fragment = mine // lanes * k
    common = {"lanes": lanes, "elem_bytes": _F32}
    reads = {**common, "thread_run": run, "stride1_bytes": stride1, "stride2_bytes": stride2}
    out = {
        f"{name}_global_shared": {
            **common, "count": staged * (along // lanes) * deep * (k // kwg),
            "bytes": 1.0 * _F32 * lanes * threads, "run_bytes": 1.0 * _F32 * tile,
            "unique_bytes": 1.0 * staged * _F32 * extent * k, "thread_run": dim,
            "stride1_bytes": _F32 * along, "stride2_bytes": _F32 * deep * extent,
            "store_stride1_bytes": _F32 * along, "store_stride2_bytes": _F32 * deep * tile,
        },
        f"{name}_shared_local": {
            **reads, "count": staged * fragment, "bytes": 1.0 * _F32 * lanes * threads,
            "run_bytes": 1.0 * _F32 * mine,
        },
        f"{name}_global_local": {
            **reads, "count": (1 - staged) * fragment, "bytes": 1.0 * _F32 * lanes * threads,
            "run_bytes": 1.0 * _F32 * tile, "unique_bytes": 1.0 * (1 - staged) * _F32 * extent * k,
        },
    }  # fmt: skip
    return {f"{stream}_{key}": v for stream, values in out.items() for key, v in values.items()}


def _output(
    stream: str, p: Mapping[str, Ints], mwi: Ints, nwi: Ints, threads: Ints, m: int, n: int
) -> dict[str, ArrayLike]:
    values: dict[str, ArrayLike] = {
        "lanes": p["VWM"], "elem_bytes": _F32, "count": nwi * mwi // p["VWM"],
        "bytes": 1.0 * _F32 * p["VWM"] * threads, "run_bytes": 1.0 * _F32 * p["MWG"],
        "unique_bytes": 1.0 * _F32 * m * n, "thread_run": p["MDIMC"],
        "stride1_bytes": _F32 * mwi, "stride2_bytes": _F32 * nwi * m,
    }  # fmt: skip
    return {f"{stream}_{key}": v for key, v in values.items()}
