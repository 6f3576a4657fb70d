"""From what the user types to a :class:`Workload`."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from math import prod
from typing import Any

from tuner.workloads.catalogue import DEFAULT_DTYPE, INT8, SPECS
from tuner.workloads.conv import CONV2D, CONV2D_BIAS_RELU
from tuner.workloads.epilogues import (
    CONV2D_BIAS,
    CONV2D_BIAS_ADD_RELU,
    DENSE_BIAS,
    DENSE_BIAS_GELU,
)
from tuner.workloads.matmul import BATCH_MATMUL, DENSE_BIAS_RELU, GEMM
from tuner.workloads.pool import GLOBAL_AVG_POOL, MAX_POOL2D
from tuner.workloads.rowwise import ADD, LAYER_NORM, SOFTMAX
from tuner.workloads.source import load_function
from tuner.workloads.workload import DTYPES, TEMPLATE, Dims, Kind, Workload, WorkloadError

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        GEMM, BATCH_MATMUL, DENSE_BIAS, DENSE_BIAS_RELU, DENSE_BIAS_GELU, CONV2D, CONV2D_BIAS,
        CONV2D_BIAS_RELU, CONV2D_BIAS_ADD_RELU, MAX_POOL2D, GLOBAL_AVG_POOL, SOFTMAX, LAYER_NORM,
        ADD,
    )
}  # fmt: skip
MAX_ELEMENTS = 2**31 - 1  # TVM's generated indices are int32
_SOURCE = re.compile(r"(?P<path>.+\.py)(:(?P<function>\w+))?")
_ONNX = re.compile(r"(?P<path>.+\.onnx):(?P<function>\w+)")


def resolve(spec: str) -> Workload:
    """The workload that ``spec`` names.

    Parameters
    ----------
    spec:
        ``kind:dims[:dtype]`` (``gemm:1024x1024x1024:float16``), a catalogue name with an optional
        dtype (``bert-base.s128.qkv:int8``), ``path.py[:function]``, or ``path.onnx:task``.  dtype
        defaults to float16.  ``@template`` behind it: scheduled by a template.

    Raises
    ------
    WorkloadError
        One line that says what is wrong with which part of ``spec``.
    """
    base, at, space = spec.rpartition("@")
    if at and space == TEMPLATE:
        found = resolve(base)
        return replace(
            found, name=f"{found.name}@{space}", spec=f"{found.spec}@{space}", space=space
        )
    source = _SOURCE.fullmatch(spec)
    if source:
        return load_function(spec, source["path"], source["function"])
    onnx = _ONNX.fullmatch(spec)
    if onnx:
        from tuner.networks.onnx import onnx_workload

        return onnx_workload(onnx["path"], onnx["function"])
    head, *rest = spec.split(":")
    try:
        if head in KINDS:
            return _of_kind(KINDS[head], spec, rest)
        if head in SPECS:
            return _of_catalogue(head, spec, rest)
    except WorkloadError as error:
        raise WorkloadError(f"workload {spec!r}: {error}") from None
    raise WorkloadError(f"workload {spec!r}: unknown name {head!r}{_hint(head)}")


def catalogue() -> list[Workload]:
    """Every workload with a name, the int8 variants included."""
    names = [*SPECS, *(f"{name}:int8" for name in INT8)]
    return [resolve(name) for name in names]


def _hint(name: str) -> str:
    near = get_close_matches(name, [*KINDS, *SPECS], n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; expected a catalogue name, a .py file or one of {', '.join(KINDS)}"


def _of_catalogue(name: str, spec: str, rest: list[str]) -> Workload:
    if len(rest) > 1:
        raise WorkloadError(f"expected {name} or {name}:DTYPE")
    kind_name, dims = SPECS[name].split(":")
    kind = KINDS[kind_name]
    dtype = _dtype(kind, rest[0] if rest else DEFAULT_DTYPE)
    label = name if dtype == DEFAULT_DTYPE else f"{name}:{dtype}"
    return _workload(kind, _dims(kind, dims), dtype, label, tuple(name.split(".")))


def _of_kind(kind: Kind, spec: str, rest: list[str]) -> Workload:
    if len(rest) not in (1, 2):
        raise WorkloadError(f"expected {kind.name}:{'x'.join(kind.dim_names)}:DTYPE")
    dtype = _dtype(kind, rest[1] if len(rest) == 2 else DEFAULT_DTYPE)
    return _workload(kind, _dims(kind, rest[0]), dtype, None, ())


def _dtype(kind: Kind, text: str) -> str:
    if text not in DTYPES:
        raise WorkloadError(f"unknown dtype {text!r}, expected one of {', '.join(DTYPES)}")
    if text not in kind.dtypes:
        raise WorkloadError(f"{kind.name} has no {text}, expected {' or '.join(kind.dtypes)}")
    return text


def _dims(kind: Kind, text: str) -> Dims:
    parts = text.split("x")
    if len(parts) != len(kind.dim_names):
        names = "x".join(kind.dim_names)
        raise WorkloadError(f"{len(parts)} dimensions in {text!r}, expected {names}")
    return tuple(
        _extent(name, part, 0 if name in kind.may_be_zero else 1)
        for name, part in zip(kind.dim_names, parts, strict=True)
    )


def _extent(name: str, text: str, least: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text) or int(text) < least:
        expected = "a positive integer" if least else "a non-negative integer"
        raise WorkloadError(f"dimension {name}={text!r}, expected {expected}")
    return int(text)


def _workload(
    kind: Kind, dims: Dims, dtype: str, name: str | None, tags: tuple[str, ...]
) -> Workload:
    for shape in kind.tensors(dims):
        if prod(shape) > MAX_ELEMENTS:
            size = "x".join(map(str, shape))
            raise WorkloadError(f"tensor {size} has more than {MAX_ELEMENTS} elements")
    spec = f"{kind.name}:{'x'.join(map(str, dims))}:{dtype}"
    return Workload(
        name=name or spec,
        spec=spec,
        kind=kind.name,
        shapes=dims,
        dtype=dtype,
        flops=kind.flops(dims),
        tags=tags,
        build=partial(_built, kind.name, dims, dtype),
    )


@cache
def _built(kind: str, dims: Dims, dtype: str) -> Any:
    return KINDS[kind].build(dims, dtype)
