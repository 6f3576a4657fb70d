"""A column that records what numpy does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from pruner.recording.graph import DTYPES, Graph, Node, NotRecordable, kind_of

_UFUNCS = {  # numpy's name -> operation; the same on bool, where numpy maps them to logic
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "maximum": "maximum", "minimum": "minimum", "ceil": "ceil", "floor": "floor",
    "sqrt": "sqrt", "absolute": "absolute", "negative": "negative", "isfinite": "isfinite",
    "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal", "equal": "equal", "not_equal": "not_equal",
    "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or",
    "logical_not": "not", "invert": "not", "bitwise_xor": "xor", "logical_xor": "xor",
}  # fmt: skip
_LOGIC = ("and", "or", "not", "xor")


class Traced(NDArrayOperatorsMixin):
    """A column ``(n,)`` of a graph; ``level`` is ``row`` or ``candidate``."""

    ndim = 1

    def __init__(self, graph: Graph, index: int, n: int, level: str = "row") -> None:
        self.graph, self.index, self.n, self.level = graph, index, n, level

    @property
    def dtype(self) -> np.dtype[Any]:
        """bool, int64 or float64."""
        return DTYPES[self.graph.nodes[self.index].result]

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``."""
        return (self.n,)

    def __len__(self) -> int:
        return self.n

    def _like(self, index: int) -> Traced:
        return Traced(self.graph, index, self.n, self.level)

    def astype(self, dtype: Any, copy: bool = True) -> Traced:
        """The column as another type."""
        return self._like(self.graph.cast(self.index, kind_of(dtype)))

    def copy(self) -> Traced:
        """A column that can be written to by itself."""
        return self._like(self.index)

    def clip(self, min: Any = None, max: Any = None) -> Traced:
        """Bounded from below, then from above."""
        low = self if min is None else np.maximum(self, min)
        bounded: Traced = low if max is None else np.minimum(low, max)
        return bounded

    def __getitem__(self, item: Any) -> Traced:
        if item is Ellipsis or (isinstance(item, slice) and item == slice(None)):
            return self
        if isinstance(item, Traced) and self.graph.nodes[item.index].value == "candidate":
            return Traced(self.graph, self.index, item.n)  # every row has its candidate's value
        raise NotRecordable("rows picked by index or mask")

    def __setitem__(self, mask: Any, value: Any) -> None:
        if not isinstance(mask, Traced) or self.graph.nodes[self.index].op == "column":
            raise NotRecordable("an assignment to rows")
        self.index = mask.choose(value, self).index

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotRecordable("numpy wants the numbers of a column")

    def __bool__(self) -> bool:
        raise NotRecordable("control flow that depends on the candidates")

    def __iter__(self) -> Any:
        raise NotRecordable("a loop over candidates")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Traced:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            raise NotRecordable(f"no operation for numpy.{ufunc.__name__}.{method}")
        value = self._power(*inputs) if ufunc is np.power else self._apply(ufunc, inputs)
        return value if out is None else _assigned(out[0], value)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        known = _FUNCTIONS.get(function)
        if known is None:
            raise NotRecordable(f"no operation for numpy.{function.__name__}")
        return known(*args, **kwargs)

    def _apply(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Traced:
        op = _UFUNCS.get(ufunc.__name__)
        if op is None:
            raise NotRecordable(f"no operation for numpy.{ufunc.__name__}")
        loop = ufunc.resolve_dtypes((*map(_type_of, inputs), *[None] * ufunc.nout))
        kind = kind_of(loop[0])
        if (op in _LOGIC) != (kind == "b") and op not in ("add", "multiply", "equal", "not_equal"):
            raise NotRecordable(f"no operation for numpy.{ufunc.__name__} of {loop[0]}")
        return self._made(op, kind, kind_of(loop[-1]), inputs)

    def _power(self, base: Any, exponent: Any) -> Traced:
        """Powers of 2, which are exact."""
        if isinstance(base, Traced) or float(base) != 2.0:
            raise NotRecordable("powers of other numbers than 2")
        return self.made("exp2", (exponent,))

    def made(self, op: str, inputs: tuple[Any, ...]) -> Traced:
        """A float64 operation over float64 columns and numbers."""
        return self._made(op, "f", "f", inputs)

    def _made(self, op: str, kind: str, result: str, inputs: tuple[Any, ...]) -> Traced:
        args = tuple(self.graph.cast(self._node(value), kind) for value in inputs)
        return self._like(self.graph.add(Node(op, kind, result, args)))

    def _node(self, value: Any) -> int:
        if not isinstance(value, Traced):
            return self.graph.constant(one_value(value, self.n))
        if value.level != self.level:
            raise NotRecordable("rows and candidates in one expression")
        return value.index

    def choose(self, a: Any, b: Any) -> Traced:
        """``numpy.where(self, a, b)``."""
        kind = kind_of(np.result_type(*(x.dtype if isinstance(x, Traced) else x for x in (a, b))))
        mask = self.graph.cast(self.index, "b")
        sides = tuple(self.graph.cast(self._node(x), kind) for x in (a, b))
        return self._like(self.graph.add(Node("where", kind, kind, (mask, *sides))))


def one_value(value: Any, n: int) -> Any:
    """The number that a constant, or a column ``(n,)`` of one number, stands for."""
    if isinstance(value, bool | int | float):
        return value
    array = np.asarray(value)
    if array.shape in ((), (1,), (n,)) and (array == array.flat[0]).all():
        return array.flat[0]
    raise NotRecordable("a column of different numbers that are no column of the table")


def _type_of(value: Any) -> Any:
    if isinstance(value, Traced):
        return value.dtype
    return type(value) if type(value) in (int, float) else np.asarray(value).dtype


def _assigned(target: Any, value: Traced) -> Traced:
    """What ``target += ...`` leaves in target."""
    kept = value.astype(target.dtype)
    if isinstance(target, Traced):
        if target.graph.nodes[target.index].op == "column":
            raise NotRecordable("an assignment to rows")
        target.index = kept.index
    return kept


def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, Traced):
        return condition.choose(a, b)
    n = (a if isinstance(a, Traced) else b).n
    picked, other = (a, b) if one_value(condition, n) else (b, a)
    dtype = np.result_type(*(x.dtype if isinstance(x, Traced) else x for x in (picked, other)))
    return picked.astype(dtype) if isinstance(picked, Traced) else picked


def _broadcast_to(array: Traced, shape: Any) -> Traced:
    if shape not in (array.n, (array.n,)):
        raise NotRecordable(f"a column of shape {shape}")
    return array


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: lambda a, low, high: np.minimum(np.maximum(a, low), high),
    np.copy: lambda a: a.copy(),
    np.broadcast_to: _broadcast_to,
    np.zeros_like: lambda a: np.zeros(a.n, a.dtype),
    np.ones_like: lambda a: np.ones(a.n, a.dtype),
    np.full_like: lambda a, value: np.full(a.n, value, a.dtype),
}
