"""Tune a TIR function for a simulated chip, from a TVM program: python examples/tune_tir.py.

The call is TVM's ``ms.tune_tir``; the chip's simulator measures, its rules prune.
"""

import sys

from tvm import te
from tvm.s_tir import meta_schedule as ms

from tuner import tune_tir


def matmul(m: int, n: int, k: int):
    """C = A B in float16, summed in float32."""
    a, b = te.placeholder((m, k), "float16", "A"), te.placeholder((k, n), "float16", "B")
    r = te.reduce_axis((0, k), "r")
    wide = [lambda i, j, x=x: x[i, j].astype("float32") for x in (a, b)]
    product = te.compute((m, n), lambda i, j: te.sum(wide[0](i, r) * wide[1](r, j), axis=r), "C")
    return te.create_prim_func([a, b, product])


def main(work_dir: str = "out/tune_tir", trials: int = 32) -> None:
    """Tune, and print the best latency and schedule."""
    func = matmul(256, 256, 256)
    search = ms.search_strategy.EvolutionarySearch(population_size=64, init_min_unmeasured=16)
    database = tune_tir(func, "ascend-910b1", work_dir, trials, strategy=search, seed=0)
    (best,) = database.get_top_k(database.get_all_tuning_records()[0].workload, 1)
    seconds = [float(s) for s in best.run_secs]
    print(f"{1e6 * sum(seconds) / len(seconds):.2f} us, the best of {len(database)} that ran")
    print(ms.tir_integration.compile_tir(database, func, best.target).mod.script())


if __name__ == "__main__":
    main(*sys.argv[1:2])
