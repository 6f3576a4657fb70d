"""Kernel tables from parameters given as text: ``base_m=128,base_n=256``; no TVM needed.

Every backend has a few kernels that its own constructors describe by tile parameters; here they
are found by name, with their parameters read from the constructors' signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from hwsim.ascend_cube.tiles import matmul_table as ascend_matmul
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.chip import Chip
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.gpu_sm.library import library_gemm
from hwsim.gpu_sm.rowwise import rowwise
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table as mlu_matmul
from hwsim.mlu_sram.streaming import StreamTiles, streaming_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable

Values = dict[str, Any]


class ParameterError(ValueError):
    """Parameters that name no kernel; the message is one line for the user."""


@dataclass(frozen=True)
class Constructor:
    """A kernel of one backend: its parameters by name, and how a table is made of their values."""

    parameters: Mapping[str, inspect.Parameter]
    build: Callable[[Values, Chip], KernelTable]

    @property
    def required(self) -> list[str]:
        """Parameters without a default."""
        return [n for n, p in self.parameters.items() if p.default is inspect.Parameter.empty]


def table_by_hand(chip: Chip, kernel: str, given: Mapping[str, str]) -> KernelTable:
    """One kernel on ``chip`` from parameters as text.

    Raises
    ------
    ParameterError
        No such kernel on this backend, an unknown or missing parameter, or a value that is not
        what the parameter takes.
    """
    constructor = _constructor(chip.backend, kernel)
    values = {name: _value(constructor, kernel, name, text) for name, text in given.items()}
    missing = [name for name in constructor.required if name not in values]
    if missing:
        raise ParameterError(f"{kernel}: missing {', '.join(missing)}")
    try:
        return constructor.build(values, chip)
    except OverflowError:
        what = "the sizes make more tiles or steps than a table holds, expected fewer than 2^63"
        raise ParameterError(f"{kernel}: {what}") from None
    except (ValueError, ArithmeticError) as error:
        raise ParameterError(f"{kernel}: {' '.join(str(error).split())}") from None


def kernels_of(backend: str) -> dict[str, Constructor]:
    """The kernels that parameters describe on a backend, by name; the first is the default.

    None on a real chip, which is not simulated.
    """
    return _KERNELS.get(backend, {})


def _constructor(backend: str, kernel: str) -> Constructor:
    known = kernels_of(backend)
    if kernel not in known:
        raise ParameterError(f"kernel {kernel!r}: {backend} has {', '.join(known)}")
    return known[kernel]


def _value(constructor: Constructor, kernel: str, name: str, text: str) -> Any:
    if name not in constructor.parameters:
        near = get_close_matches(name, constructor.parameters, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(constructor.parameters)}"
        raise ParameterError(f"{kernel}: no parameter {name!r}; {hint}")
    parameter = constructor.parameters[name]
    kind, default = str(parameter.annotation), parameter.default
    if "str" in kind or "Layout" in kind:
        return text
    if kind == "bool":
        return _flag(kernel, name, text)
    if name in _FLAGS or isinstance(default, bool):
        return int(_flag(kernel, name, text))
    least = 0 if name in _MAY_BE_ZERO or default == 0 else 1
    if kind == "float":
        return _number(kernel, name, text, float, 0)
    value = _number(kernel, name, text, int, least)
    if name in _WIDTHS and value not in _BITS:
        raise ParameterError(f"{kernel}: {name}={text!r}, expected 8, 16 or 32")
    return value


def _number(kernel: str, name: str, text: str, kind: type[Any], least: int) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not least <= value < _HUGE:
        what = "a number" if kind is float else "a whole number"
        raise ParameterError(
            f"{kernel}: {name}={text!r}, expected {what} from {least} to below 2^40"
        )
    return value


def _flag(kernel: str, name: str, text: str) -> bool:
    if text not in ("0", "1", "true", "false"):
        raise ParameterError(f"{kernel}: {name}={text!r}, expected true or false")
    return text in ("1", "true")


def _of(*callables: Callable[..., Any], leave: str = "") -> dict[str, inspect.Parameter]:
    """The parameters of several callables together, without those in ``leave``."""
    found = {n: p for c in callables for n, p in inspect.signature(c).parameters.items()}
    return {name: p for name, p in found.items() if name not in leave.split()}


def _split(values: Values, tiles: type[Any]) -> tuple[Any, Values]:
    """The tile description with its share of the values, and the others."""
    mine = set(inspect.signature(tiles).parameters)
    return (
        tiles(**{name: v for name, v in values.items() if name in mine}),
        {name: v for name, v in values.items() if name not in mine},
    )


def _ascend_matmul(values: Values, chip: Chip) -> KernelTable:
    tiling, rest = _split(values, MatmulTiling)
    return ascend_matmul(tiling=tiling, **rest)


def _ascend_elementwise(values: Values, chip: Chip) -> KernelTable:
    tiling, rest = _split(values, VectorTiling)
    return elementwise_table(tiling=tiling, **rest)


def _clblast(values: Values, chip: Chip) -> KernelTable:
    v = values
    for whole, part in (
        ("MWG", v["MDIMC"] * v["VWM"]), ("MWG", v["MDIMA"] * v["VWM"]),
        ("NWG", v["NDIMC"] * v["VWN"]), ("NWG", v["NDIMB"] * v["VWN"]),
    ):  # fmt: skip
        if v[whole] % part:
            raise ValueError(f"{whole} is {v[whole]}, expected a multiple of {part}")
    sizes = {name: values.pop(name) for name in ("m", "n", "k") if name in values}
    return clblast_gemm({name: np.array([value]) for name, value in values.items()}, **sizes)


def _integers(*names: str) -> dict[str, inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, keyword, annotation="int") for name in names}


def _on_mlu(chip: Chip) -> MluChip:
    if not isinstance(chip, MluChip):
        raise TypeError(f"expected an MluChip, got {type(chip).__name__}")
    return chip


_HUGE = 2**40  # elements that no device memory holds; more would wrap in products of int64
_WIDTHS, _BITS = ("bits", "in_bits", "acc_bits", "out_bits"), (8, 16, 32)
_FLAGS = ("SA", "SB", "staged", "padded", "read_only")
_MAY_BE_ZERO = ("inputs", "outputs", "simple_ops", "passes")
_CLBLAST = ("MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "VWM", "VWN", "SA", "SB")
_KERNELS: dict[str, dict[str, Constructor]] = {
    "ascend_cube": {
        "matmul": Constructor(_of(ascend_matmul, MatmulTiling, leave="tiling"), _ascend_matmul),
        "elementwise": Constructor(
            _of(elementwise_table, VectorTiling, leave="tiling"), _ascend_elementwise
        ),
    },
    "mlu_sram": {
        "matmul": Constructor(
            _of(MatmulTiles), lambda v, c: mlu_matmul([MatmulTiles(**v)], _on_mlu(c))
        ),
        "elementwise": Constructor(
            _of(StreamTiles), lambda v, c: streaming_table([StreamTiles(**v)], _on_mlu(c))
        ),
    },
    "gpu_sm": {
        "matmul": Constructor(_of(library_gemm), lambda v, c: library_gemm(**v)),
        "clblast": Constructor(
            _integers(*_CLBLAST) | _of(clblast_gemm, leave="parameters"), _clblast
        ),
        "convolution": Constructor(_of(convolution_2d), lambda v, c: convolution_2d(**v)),
        "rowwise": Constructor(_of(rowwise), lambda v, c: rowwise(**v)),
    },
}
