"""Row-wise and elementwise kinds: ``softmax``, ``layer_norm`` and ``add``, all over ``(M, N)``.

Reductions and transcendental functions are computed in float32 and the result is rounded to the
input dtype, as the vendors' libraries do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.workloads.matmul import shrink
from tuner.workloads.workload import Arrays, Dims, Kind

EPSILON = 1e-5  # layer_norm's variance offset, the default of the common frameworks


def _build_softmax(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    m, n = dims
    x = te.placeholder((m, n), name="X", dtype=dtype)
    k1, k2 = te.reduce_axis((0, n), name="k1"), te.reduce_axis((0, n), name="k2")
    top = te.compute((m,), lambda i: te.max(x[i, k1].astype("float32"), axis=k1), name="row_max")
    e = te.compute(
        (m, n), lambda i, j: tirx.exp(x[i, j].astype("float32") - top[i]), name="row_exp"
    )
    total = te.compute((m,), lambda i: te.sum(e[i, k2], axis=k2), name="row_sum")
    y = te.compute((m, n), lambda i, j: (e[i, j] / total[i]).astype(dtype), name="Y")
    return te.create_prim_func([x, y])


def _build_layer_norm(dims: Dims, dtype: str) -> Any:
    from tvm import te, tirx

    m, n = dims
    x = te.placeholder((m, n), name="X", dtype=dtype)
    gamma, beta = (te.placeholder((n,), name=s, dtype=dtype) for s in ("gamma", "beta"))
    k1, k2 = te.reduce_axis((0, n), name="k1"), te.reduce_axis((0, n), name="k2")

    def wide(i: Any, j: Any) -> Any:
        return x[i, j].astype("float32")

    s = te.compute((m,), lambda i: te.sum(wide(i, k1), axis=k1), name="row_sum")
    q = te.compute((m,), lambda i: te.sum(wide(i, k2) * wide(i, k2), axis=k2), name="row_square")
    scale = tirx.const(1.0 / n, "float32")

    def element(i: Any, j: Any) -> Any:
        mean = s[i] * scale
        spread = tirx.sqrt(q[i] * scale - mean * mean + tirx.const(EPSILON, "float32"))
        normal = (wide(i, j) - mean) / spread
        return (normal * gamma[j].astype("float32") + beta[j].astype("float32")).astype(dtype)

    y = te.compute((m, n), element, name="Y")
    return te.create_prim_func([x, gamma, beta, y])


def _build_add(dims: Dims, dtype: str) -> Any:
    from tvm import te

    a, b = (te.placeholder(dims, name=s, dtype=dtype) for s in ("A", "B"))
    return te.create_prim_func([a, b, te.compute(dims, lambda i, j: a[i, j] + b[i, j], name="C")])


def _softmax(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    x = inputs[0].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray((e / e.sum(axis=1, keepdims=True)).astype(dtype))


def _layer_norm(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    x, gamma, beta = (a.astype(np.float64) for a in inputs)
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    return np.asarray((centred / spread * gamma + beta).astype(dtype))


def _add(inputs: Arrays, dims: Dims, dtype: str) -> NDArray[Any]:
    return np.asarray(inputs[0] + inputs[1])


def _small(dims: Dims) -> Dims:
    return shrink(dims[0], 48), shrink(dims[1], 96)


SOFTMAX = Kind(
    name="softmax",
    dim_names=("M", "N"),
    build=_build_softmax,
    tensors=lambda d: (d, d),
    flops=lambda d: 5.0 * d[0] * d[1],  # max, subtract, exp, add, divide
    reference=_softmax,
    small=_small,
    dtypes=("float16", "float32"),
)
LAYER_NORM = Kind(
    name="layer_norm",
    dim_names=("M", "N"),
    build=_build_layer_norm,
    tensors=lambda d: (d, (d[1],), (d[1],), d),
    flops=lambda d: 7.0 * d[0] * d[1],  # add; multiply, add; subtract, divide, multiply, add
    reference=_layer_norm,
    small=_small,
    dtypes=("float16", "float32"),
)
ADD = Kind(
    name="add",
    dim_names=("M", "N"),
    build=_build_add,
    tensors=lambda d: (d, d, d),
    flops=lambda d: 1.0 * d[0] * d[1],
    reference=_add,
    small=_small,
)
