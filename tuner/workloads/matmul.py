"""Matrix products: ``gemm``, ``batch_matmul`` and ``dense_bias_relu``.

``C[m, n] = sum_k A[m, k] B[k, n]``, products and sums in the accumulator's dtype (float32 for
float16, int32 for int8), which is also the dtype of C.  The fused kind adds a bias of that dtype,
applies ReLU and rounds to the input dtype where the inputs are floating point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.workloads.workload import ACCUMULATOR, Arrays, Dims, Kind, relu


def fused_output_dtype(dtype: str) -> str:
    """Output dtype behind bias + ReLU; integers stay wide since no scale is part of the kind."""
    return "int32" if dtype == "int8" else dtype


def bias_relu(te: Any, tirx: Any, acc: Any, bias: Any, dtype: str) -> Any:
    """TE epilogue: add ``bias`` along the last axis, ReLU, round to the output dtype."""
    biased = te.compute(acc.shape, lambda *i: acc(*i) + bias[i[-1]], name="bias_add")
    zero = tirx.const(0, acc.dtype)
    out = fused_output_dtype(dtype)
    return te.compute(acc.shape, lambda *i: tirx.max(biased(*i), zero).astype(out), name="relu")


def product(te: Any, dims: Dims, dtype: str) -> tuple[Any, Any, Any]:
    """TE tensors ``(A, B, C)``; C has the accumulator's dtype."""
    m, n, k = dims
    acc = ACCUMULATOR[dtype]
    a = te.placeholder((m, k), name="A", dtype=dtype)
    b = te.placeholder((k, n), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (m, n), lambda i, j: te.sum(a[i, r].astype(acc) * b[r, j].astype(acc), axis=r), name="C"
    )
    return a, b, c


def _build_gemm(dims: Dims, dtype: str) -> Any:
    from tvm import te

    return te.create_prim_func(list(product(te, dims, dtype)))


def _build_dense(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    a, b, c = product(te, dims, dtype)
    bias = te.placeholder((dims[1],), name="bias", dtype=ACCUMULATOR[dtype])
    return te.create_prim_func([a, b, bias, bias_relu(te, tirx, c, bias, dtype)])


def _build_batched(dims: Dims, dtype: str) -> Any:
    from tvm import te

    batch, m, n, k = dims
    acc = ACCUMULATOR[dtype]
    a = te.placeholder((batch, m, k), name="A", dtype=dtype)
    b = te.placeholder((batch, k, n), name="B", dtype=dtype)
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (batch, m, n),
        lambda g, i, j: te.sum(a[g, i, r].astype(acc) * b[g, r, j].astype(acc), axis=r),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def _product(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    # float64 represents every int8 product sum and every float16 product exactly.
    wide = np.matmul(inputs[0].astype(np.float64), inputs[1].astype(np.float64))
    return np.asarray(wide.astype(ACCUMULATOR[dtype]))


def _dense(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    return relu(_product(inputs, dims, dtype) + inputs[2]).astype(fused_output_dtype(dtype))


def _gemm_tensors(dims: Dims) -> tuple[Dims, ...]:
    m, n, k = dims
    return (m, k), (k, n), (m, n)


def _dense_tensors(dims: Dims) -> tuple[Dims, ...]:
    a, b, c = _gemm_tensors(dims)
    return a, b, (dims[1],), c


def _batched_tensors(dims: Dims) -> tuple[Dims, ...]:
    return tuple((dims[0], *shape) for shape in _gemm_tensors(dims[1:]))


def shrink(extent: int, limit: int) -> int:
    """At most about ``limit``, with the remainder modulo 16 and hence the padding kept."""
    return extent if extent <= limit else limit - 16 + (extent % 16 or 16)


def _small(dims: Dims) -> Dims:
    m, n, k = dims
    return shrink(m, 64), shrink(n, 64), shrink(k, 128)


GEMM = Kind(
    name="gemm",
    dim_names=("M", "N", "K"),
    build=_build_gemm,
    tensors=_gemm_tensors,
    flops=lambda d: 2.0 * d[0] * d[1] * d[2],
    reference=_product,
    small=_small,
)
BATCH_MATMUL = Kind(
    name="batch_matmul",
    dim_names=("B", "M", "N", "K"),
    build=_build_batched,
    tensors=_batched_tensors,
    flops=lambda d: 2.0 * d[0] * d[1] * d[2] * d[3],
    reference=_product,
    small=lambda d: (min(d[0], 3), *_small(d[1:])),
)
DENSE_BIAS_RELU = Kind(
    name="dense_bias_relu",
    dim_names=("M", "N", "K"),
    build=_build_dense,
    tensors=_dense_tensors,
    flops=lambda d: 2.0 * d[0] * d[1] * d[2] + 2.0 * d[0] * d[1],
    reference=_dense,
    small=_small,
)
