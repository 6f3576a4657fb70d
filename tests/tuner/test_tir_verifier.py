"""The table says exactly which candidates TVM's VerifyGPUCode rejects."""

import numpy as np
import pytest

from tuner import tir

GPU = "a100-sxm-40gb"
INDEX_BYTES, VECTOR_BYTES = 4, 16
SPECS = (
    "gemm:1024x1024x1024:float16",
    "gemm:1024x1024x1024:float32",
    "gemm:512x768x512:int8",
    "conv2d:1x56x56x64x64x3x3x1x1:float16",
    "conv2d:1x56x56x64x64x3x3x1x1:float32",
    "batch_matmul:12x128x128x64:float16",
    "softmax:256x1000:float16",
    "layer_norm:128x768:float32",
)


def accepted(table, chip):
    floor, ceiling = table["thread_floor"], table["thread_ceiling"]
    threads = table["threads"]
    fine = (table["shared_bytes"] <= chip.shared_block_kib * 1024) & (threads >= floor)
    fine &= (threads <= chip.max_threads_block) & ((ceiling == 0) | (threads <= ceiling))
    fine &= (table["pipeline_extent"] != 1) & (table["vector_bytes"] <= VECTOR_BYTES)
    fine &= table["ramp_lanes"] * INDEX_BYTES <= VECTOR_BYTES
    return bool(np.all(fine))


def verdict_of_tvm(candidate):
    candidate.schedule.enter_postproc()
    for postproc in candidate.problem.postprocs:
        if not postproc.apply(candidate.schedule):
            assert type(postproc).__name__ == "VerifyGPUCode"
            return False
    return True


@pytest.mark.parametrize("spec", SPECS)
def test_verdict(candidates, spec):
    verdicts = set()
    for c in candidates(spec, GPU, 10, 7):
        table = tir.kernels(c.schedule, c.problem.workload, "gpu_sm")
        predicted = accepted(table, c.problem.chip)
        assert predicted == verdict_of_tvm(c), c.row
        verdicts.add(predicted)
    assert True in verdicts
