"""What is scheduled: a named TIR program with its true shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Dims = tuple[int, ...]
Arrays = tuple[NDArray[Any], ...]

DTYPES = ("float16", "float32", "int8")
# Where schedules come from: TVM's and prunelab's generators, or a fixed schedule with a few knobs.
GENERATED, TEMPLATE = SPACES = ("generated", "template")
# What products are summed in: the accumulator of every matrix unit modelled here.
ACCUMULATOR = {"float16": "float32", "float32": "float32", "int8": "int32"}


class WorkloadError(ValueError):
    """A workload that cannot be found or built; the message is one line for the user."""


@dataclass(frozen=True)
class Kind:
    """A family of workloads, e.g. ``gemm``.

    ``dim_names`` names the dimensions in the order of the spec; those in ``may_be_zero`` accept 0.
    ``build(dims, dtype)`` gives the TIR PrimFunc and is the only member that imports TVM.
    ``tensors(dims)`` gives the shapes of the inputs and, last, of the output.
    ``flops(dims)`` counts useful operations, a multiply-accumulate being two.
    ``reference(inputs, dims, dtype)`` is the same computation in numpy.
    ``small(dims)`` gives dimensions of the same structure that a CPU runs in milliseconds.
    """

    name: str
    dim_names: tuple[str, ...]
    build: Callable[[Dims, str], Any]
    tensors: Callable[[Dims], tuple[Dims, ...]]
    flops: Callable[[Dims], float]
    reference: Callable[[Arrays, Dims, str], NDArray[Any]]
    small: Callable[[Dims], Dims]
    dtypes: tuple[str, ...] = DTYPES
    may_be_zero: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Workload:
    """One program to schedule.

    Parameters
    ----------
    name:
        What the user calls it: a catalogue name or the canonical spec.
    spec:
        The canonical spec, ``kind:dims:dtype`` or ``path.py:function``; :func:`resolve` takes it.
    kind:
        Name of the :class:`Kind`, or ``"source"`` for a function of the user's file.
    shapes:
        The dimensions in the order of the spec (empty for ``"source"``).
    dtype:
        Element type of the inputs.
    flops:
        Useful operations of one execution; a multiply-accumulate is two.
    tags:
        Free labels, e.g. ``("resnet50", "conv")``.
    space:
        ``generated`` or ``template``: where its schedules come from.
    """

    name: str
    spec: str
    kind: str
    shapes: Dims
    dtype: str
    flops: float
    tags: tuple[str, ...] = ()
    space: str = GENERATED
    build: Callable[[], Any] = field(repr=False, compare=False, kw_only=True)

    def prim_func(self) -> Any:
        """The TIR ``PrimFunc`` (imports TVM on the first call)."""
        return self.build()


def named(kind: Kind, dims: Dims) -> Mapping[str, int]:
    """Dimension name -> extent."""
    return dict(zip(kind.dim_names, dims, strict=True))


def relu(x: NDArray[Any]) -> NDArray[Any]:
    """``max(x, 0)``, dtype kept."""
    return np.asarray(np.maximum(x, x.dtype.type(0)))
