"""Random MLU kernels for the tests: a few hundred shapes of loads, moves, compute and stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.table import KernelTable


def random_kernels(n: int, seed: int) -> KernelTable:
    """``n`` kernels that mostly fit, nested as loops are: outputs x far loads x near loads."""
    rng = np.random.default_rng(seed)

    def pick(low: int, high: int) -> Any:
        return rng.integers(low, high, n)

    outputs, fars, nears = 2 ** pick(0, 5), 2 ** pick(0, 4), 2 ** pick(0, 4)
    clusters, cores = pick(1, 14), pick(1, 5)
    mm = outputs * fars * nears
    mm_m, mm_n, mm_k = 16 * pick(1, 8), 64 * pick(1, 5), 64 * pick(1, 5)
    macs = (clusters * cores * mm * mm_m * mm_n).astype(float) * mm_k
    return KernelTable.of(
        "mlu_sram",
        clusters=clusters,
        cores_per_cluster=cores,
        blocks=clusters * cores,
        in_bits=16,
        out_tiles=outputs,
        macs=macs,
        macs_useful=macs * rng.uniform(0.5, 1.0, n),
        mm_count=mm,
        mm_m=mm_m,
        mm_n=mm_n,
        mm_k=mm_k,
        a_gdram_sram_count=outputs * fars * pick(0, 2),
        a_gdram_sram_bytes=4096.0 * pick(1, 50),
        a_gdram_sram_run_bytes=2.0 ** pick(6, 16),
        a_sram_nram_count=mm,
        a_sram_nram_bytes=4096.0 * pick(1, 9),
        b_gdram_wram_count=mm,
        b_gdram_wram_bytes=8192.0 * pick(1, 5),
        b_gdram_wram_run_bytes=128.0 * pick(1, 60),
        c_nram_gdram_count=outputs,
        c_nram_gdram_bytes=65536.0,
        c_nram_gdram_run_bytes=256.0 * pick(1, 100),
        sram_bytes=4e4 * pick(1, 130),
        nram_bytes=1e5,
        wram_bytes=1e5,
        sram_buffers=pick(1, 3),
        nram_buffers=pick(1, 3),
        wram_buffers=pick(1, 3),
        vec_count=outputs,
        vec_bytes=4096.0 * pick(1, 10),
    )
