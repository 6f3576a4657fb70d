"""Pooling in NHWC: ``max_pool2d`` and ``global_avg_pool``.

``max_pool2d`` pads with the least value of its dtype, so that padding never wins.  The average is
summed in the accumulator's dtype and rounded; integers are left as the sum, since no scale is part
of the kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.workloads.matmul import fused_output_dtype, shrink
from tuner.workloads.workload import ACCUMULATOR, Arrays, Dims, Kind, WorkloadError


def _output_size(dims: Dims) -> tuple[int, int]:
    _, h, w, _, k, stride, pad = dims
    if k > min(h, w) + 2 * pad:
        raise WorkloadError(f"window {k} is larger than the padded input {h + 2 * pad}")
    return (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1


def _least(dtype: str) -> float:
    info = np.iinfo(dtype) if dtype.startswith("int") else np.finfo(dtype)
    return float(info.min)


def _build_max(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    n, h, w, c, k, stride, pad = dims
    oh, ow = _output_size(dims)
    x = te.placeholder((n, h, w, c), name="X", dtype=dtype)
    least = tirx.const(_least(dtype), dtype)

    def inside(b: Any, i: Any, j: Any, ch: Any) -> Any:
        ok = tirx.all(i >= pad, i < h + pad, j >= pad, j < w + pad)
        return tirx.if_then_else(ok, x[b, i - pad, j - pad, ch], least)

    rows = (n, h + 2 * pad, w + 2 * pad, c)
    padded = te.compute(rows, inside, name="padded") if pad else x
    rh, rw = te.reduce_axis((0, k), name="rh"), te.reduce_axis((0, k), name="rw")
    y = te.compute(
        (n, oh, ow, c),
        lambda b, i, j, ch: te.max(padded[b, i * stride + rh, j * stride + rw, ch], axis=[rh, rw]),
        name="Y",
    )
    return te.create_prim_func([x, y])


def _build_average(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    n, h, w, c = dims
    acc, out = ACCUMULATOR[dtype], fused_output_dtype(dtype)
    x = te.placeholder(dims, name="X", dtype=dtype)
    rh, rw = te.reduce_axis((0, h), name="rh"), te.reduce_axis((0, w), name="rw")
    total = te.compute(
        (n, c), lambda b, ch: te.sum(x[b, rh, rw, ch].astype(acc), axis=[rh, rw]), name="total"
    )

    def mean(b: Any, ch: Any) -> Any:
        if acc != "float32":
            return total[b, ch]
        return (total[b, ch] * tirx.const(1.0 / (h * w), acc)).astype(out)

    return te.create_prim_func([x, te.compute((n, c), mean, name="Y")])


def _max(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    _, _, _, _, k, stride, pad = dims
    oh, ow = _output_size(dims)
    edges = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    x = np.pad(inputs[0], edges, constant_values=_least(dtype))
    windows = [
        x[:, i : i + oh * stride : stride, j : j + ow * stride : stride][:, :oh, :ow]
        for i in range(k)
        for j in range(k)
    ]
    return np.asarray(np.max(windows, axis=0))


def _average(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    total = inputs[0].astype(np.float64).sum(axis=(1, 2))
    if ACCUMULATOR[dtype] == "float32":
        total /= dims[1] * dims[2]
    return np.asarray(total.astype(fused_output_dtype(dtype)))


def _windows(dims: Dims) -> float:
    oh, ow = _output_size(dims)
    return float(dims[0] * oh * ow * dims[3] * dims[4] ** 2)


def _small_max(dims: Dims) -> Dims:
    n, h, w, c, k, stride, pad = dims
    side = max(10, k + stride)
    return min(n, 2), min(h, side), min(w, side), shrink(c, 48), k, stride, pad


MAX_POOL2D = Kind(
    name="max_pool2d",
    dim_names=("N", "H", "W", "C", "K", "S", "P"),
    build=_build_max,
    tensors=lambda d: (d[:4], (d[0], *_output_size(d), d[3])),
    flops=_windows,  # one comparison for each element of each window
    reference=_max,
    small=_small_max,
    may_be_zero=frozenset("P"),
)
GLOBAL_AVG_POOL = Kind(
    name="global_avg_pool",
    dim_names=("N", "H", "W", "C"),
    build=_build_average,
    tensors=lambda d: (d, (d[0], d[3])),
    flops=lambda d: 1.0 * d[0] * d[1] * d[2] * d[3],
    reference=_average,
    small=lambda d: (min(d[0], 2), min(d[1], 7), min(d[2], 7), shrink(d[3], 96)),
)
