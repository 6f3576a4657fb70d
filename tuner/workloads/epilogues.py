"""Products with more behind them: bias alone, bias + residual + ReLU, bias + GELU.

``conv2d_bias`` and ``dense_bias`` add a bias of the accumulator's dtype and round;
``conv2d_bias_add_relu`` also adds a residual of the output's dtype and shape, its last input,
before ReLU; ``dense_bias_gelu`` applies the exact GELU of Hendrycks and Gimpel (2016),
``x (1 + erf(x / sqrt(2))) / 2``.  Output dtypes as in :mod:`tuner.workloads.matmul`.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from tuner.workloads.conv import CONV2D, CONV2D_BIAS_RELU, convolution, output_size
from tuner.workloads.matmul import GEMM, fused_output_dtype, product
from tuner.workloads.workload import ACCUMULATOR, Arrays, Dims, Kind, relu


def _biased(te: Any, acc: Any, bias: Any) -> Any:
    return te.compute(acc.shape, lambda *i: acc(*i) + bias[i[-1]], name="bias_add")


def _bias_of(te: Any, size: int, dtype: str) -> Any:
    return te.placeholder((size,), name="bias", dtype=ACCUMULATOR[dtype])


def _rounded(te: Any, biased: Any, dtype: str) -> Any:
    out = fused_output_dtype(dtype)
    return te.compute(biased.shape, lambda *i: biased(*i).astype(out), name="rounded")


def _build_conv_bias(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    x, k, y = convolution(te, tirx, dims, dtype)
    bias = _bias_of(te, dims[4], dtype)
    return te.create_prim_func([x, k, bias, _rounded(te, _biased(te, y, bias), dtype)])


def _build_conv_residual(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    x, k, y = convolution(te, tirx, dims, dtype)
    bias, out = _bias_of(te, dims[4], dtype), fused_output_dtype(dtype)
    residual = te.placeholder(y.shape, name="residual", dtype=out)
    biased, zero = _biased(te, y, bias), tirx.const(0, y.dtype)
    total = te.compute(
        y.shape, lambda *i: biased(*i) + residual(*i).astype(y.dtype), name="residual_add"
    )
    last = te.compute(y.shape, lambda *i: tirx.max(total(*i), zero).astype(out), name="relu")
    return te.create_prim_func([x, k, bias, residual, last])


def _build_dense_bias(dims: Dims, dtype: str) -> Any:
    from tvm import te

    a, b, c = product(te, dims, dtype)
    bias = _bias_of(te, dims[1], dtype)
    return te.create_prim_func([a, b, bias, _rounded(te, _biased(te, c, bias), dtype)])


def _build_dense_gelu(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    a, b, c = product(te, dims, dtype)
    bias, half = _bias_of(te, dims[1], dtype), tirx.const(0.5, "float32")
    root = tirx.const(1 / sqrt(2), "float32")
    biased = _biased(te, c, bias)

    def element(i: Any, j: Any) -> Any:
        x = biased[i, j]
        return (x * half * (tirx.const(1.0, "float32") + tirx.erf(x * root))).astype(dtype)

    return te.create_prim_func([a, b, bias, te.compute(c.shape, element, name="gelu")])


def _conv_bias(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    y = CONV2D.reference(inputs[:2], dims, dtype) + inputs[2]
    return np.asarray(y.astype(fused_output_dtype(dtype)))


def _conv_residual(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    y = CONV2D.reference(inputs[:2], dims, dtype) + inputs[2]
    return relu(y + inputs[3].astype(y.dtype)).astype(fused_output_dtype(dtype))


def _dense_bias(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    y = GEMM.reference(inputs[:2], dims, dtype) + inputs[2]
    return np.asarray(y.astype(fused_output_dtype(dtype)))


def _dense_gelu(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    y = (GEMM.reference(inputs[:2], dims, dtype) + inputs[2]).astype(np.float64)
    return np.asarray((y * 0.5 * (1 + erf(y / sqrt(2)))).astype(dtype))


def _outputs(dims: Dims) -> float:
    oh, ow = output_size(dims)
    return float(dims[0] * oh * ow * dims[4])


def _dense_tensors(dims: Dims) -> tuple[Dims, ...]:
    m, n, k = dims
    return (m, k), (k, n), (n,), (m, n)


def _residual_tensors(dims: Dims) -> tuple[Dims, ...]:
    *inputs, y = CONV2D_BIAS_RELU.tensors(dims)
    return (*inputs, y, y)


CONV2D_BIAS = replace(
    CONV2D_BIAS_RELU,
    name="conv2d_bias",
    build=_build_conv_bias,
    flops=lambda d: CONV2D.flops(d) + _outputs(d),
    reference=_conv_bias,
)
CONV2D_BIAS_ADD_RELU = replace(
    CONV2D_BIAS_RELU,
    name="conv2d_bias_add_relu",
    build=_build_conv_residual,
    tensors=_residual_tensors,
    flops=lambda d: CONV2D.flops(d) + 3 * _outputs(d),
    reference=_conv_residual,
)
DENSE_BIAS = Kind(
    name="dense_bias",
    dim_names=GEMM.dim_names,
    build=_build_dense_bias,
    tensors=_dense_tensors,
    flops=lambda d: GEMM.flops(d) + d[0] * d[1],
    reference=_dense_bias,
    small=GEMM.small,
)
DENSE_BIAS_GELU = replace(
    DENSE_BIAS,
    name="dense_bias_gelu",
    build=_build_dense_gelu,
    flops=lambda d: GEMM.flops(d) + 6.0 * d[0] * d[1],  # add; scale, erf, add, two products
    reference=_dense_gelu,
    dtypes=("float16", "float32"),
)
