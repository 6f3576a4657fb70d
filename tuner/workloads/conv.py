"""Convolutions in NHWC with HWIO weights: ``conv2d`` and ``conv2d_bias_relu``.

Spec ``NxHxWxCIxCOxKHxKWxSxP``: stride S and zero padding P on both spatial axes.  Dtypes as in
:mod:`tuner.workloads.matmul`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.workloads.matmul import bias_relu, fused_output_dtype, shrink
from tuner.workloads.workload import ACCUMULATOR, Arrays, Dims, Kind, WorkloadError, relu


def output_size(dims: Dims) -> tuple[int, int]:
    """``(OH, OW)``; :class:`WorkloadError` where the kernel does not fit the padded input."""
    _, h, w, _, _, kh, kw, stride, pad = dims
    if kh > h + 2 * pad or kw > w + 2 * pad:
        raise WorkloadError(
            f"kernel {kh}x{kw} is larger than the padded input {h + 2 * pad}x{w + 2 * pad}"
        )
    return (h + 2 * pad - kh) // stride + 1, (w + 2 * pad - kw) // stride + 1


def convolution(te: Any, tirx: Any, dims: Dims, dtype: str) -> tuple[Any, Any, Any]:
    """TE tensors ``(X, W, Y)``; Y has the accumulator's dtype."""
    n, h, w, ci, co, kh, kw, stride, pad = dims
    acc = ACCUMULATOR[dtype]
    oh, ow = output_size(dims)
    x = te.placeholder((n, h, w, ci), name="X", dtype=dtype)
    k = te.placeholder((kh, kw, ci, co), name="W", dtype=dtype)
    padded = _padded(te, tirx, x, pad) if pad else x
    rh, rw, rc = (te.reduce_axis((0, r), name=s) for r, s in ((kh, "rh"), (kw, "rw"), (ci, "rc")))

    def element(b: Any, i: Any, j: Any, c: Any) -> Any:
        value = padded[b, i * stride + rh, j * stride + rw, rc].astype(acc)
        return te.sum(value * k[rh, rw, rc, c].astype(acc), axis=[rh, rw, rc])

    return x, k, te.compute((n, oh, ow, co), element, name="Y")


def _padded(te: Any, tirx: Any, x: Any, pad: int) -> Any:
    n, h, w, c = x.shape
    zero = tirx.const(0, x.dtype)

    def element(b: Any, i: Any, j: Any, ch: Any) -> Any:
        inside = tirx.all(i >= pad, i < h + pad, j >= pad, j < w + pad)
        return tirx.if_then_else(inside, x[b, i - pad, j - pad, ch], zero)

    return te.compute((n, h + 2 * pad, w + 2 * pad, c), element, name="padded")


def _build(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    return te.create_prim_func(list(convolution(te, tirx, dims, dtype)))


def _build_fused(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    x, k, y = convolution(te, tirx, dims, dtype)
    bias = te.placeholder((dims[4],), name="bias", dtype=ACCUMULATOR[dtype])
    return te.create_prim_func([x, k, bias, bias_relu(te, tirx, y, bias, dtype)])


def _reference(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    n, _, _, _, co, kh, kw, stride, pad = dims
    oh, ow = output_size(dims)
    x = np.pad(inputs[0].astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    y = np.zeros((n, oh, ow, co))
    for i in range(kh):
        for j in range(kw):
            window = x[:, i : i + oh * stride : stride, j : j + ow * stride : stride]
            y += window[:, :oh, :ow] @ inputs[1][i, j].astype(np.float64)
    return y.astype(ACCUMULATOR[dtype])


def _reference_fused(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    return relu(_reference(inputs, dims, dtype) + inputs[2]).astype(fused_output_dtype(dtype))


def _tensors(dims: Dims) -> tuple[Dims, ...]:
    n, h, w, ci, co, kh, kw, _, _ = dims
    return (n, h, w, ci), (kh, kw, ci, co), (n, *output_size(dims), co)


def _fused_tensors(dims: Dims) -> tuple[Dims, ...]:
    x, k, y = _tensors(dims)
    return x, k, (dims[4],), y


def _flops(dims: Dims) -> float:
    n, _, _, ci, co, kh, kw, _, _ = dims
    oh, ow = output_size(dims)
    return 2.0 * n * oh * ow * co * ci * kh * kw


def _fused_flops(dims: Dims) -> float:
    oh, ow = output_size(dims)
    return _flops(dims) + 2.0 * dims[0] * oh * ow * dims[4]


def _small(dims: Dims) -> Dims:
    n, h, w, ci, co, kh, kw, stride, pad = dims
    side = max(14, kh + stride)
    small = (min(h, side), min(w, max(side, kw + stride)))
    return (min(n, 2), *small, shrink(ci, 32), shrink(co, 48), kh, kw, stride, pad)


_DIMS = ("N", "H", "W", "CI", "CO", "KH", "KW", "S", "P")

CONV2D = Kind(
    name="conv2d",
    dim_names=_DIMS,
    build=_build,
    tensors=_tensors,
    flops=_flops,
    reference=_reference,
    small=_small,
    may_be_zero=frozenset("P"),
)
CONV2D_BIAS_RELU = Kind(
    name="conv2d_bias_relu",
    dim_names=_DIMS,
    build=_build_fused,
    tensors=_fused_tensors,
    flops=_fused_flops,
    reference=_reference_fused,
    small=_small,
    may_be_zero=frozenset("P"),
)
