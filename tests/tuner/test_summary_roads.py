"""A nest may be written in several ways (see tuner.nest): all of them have one table."""

from dataclasses import replace

import numpy as np
import pytest

from tuner import tir
from tuner.nest import Digit
from tuner.summary import kernel_table

SPECS = (
    ("gemm:96x64x128:float16", "a100-sxm-40gb"),
    ("conv2d:1x14x14x32x48x3x3x1x1:float32", "a100-sxm-40gb"),
    ("softmax:48x96:float16", "a100-sxm-40gb"),
    ("conv2d_bias_relu:1x14x14x32x32x3x3x1x1:float16", "ascend-910b1"),
    ("layer_norm:48x96:float16", "mlu370-s4"),
)
ONE = np.ones(1, dtype=np.int64)


def parts(digit):
    """The digit as two where it can be cut without changing what a loop is."""
    extent = int(digit.extent[0])
    if digit.kind in ("serial", "unroll", "vectorize", "vthread") or extent % 2 or extent < 4:
        return [digit]
    halves = (("high", extent // 2), ("low", 2))
    return [replace(digit, name=f"{digit.name}.{part}", extent=ONE * e) for part, e in halves]


def rewritten(access, digits):
    """Coefficients of the parts, and zeros for digits that do not matter."""

    def coefs(mapping):
        out = {"unit": 0 * ONE}
        for digit in digits:
            below = mapping.get(digit.name, 0 * ONE)
            for part in reversed(parts(digit)):
                out[part.name] = below
                below = below * part.extent
        return out

    splits = tuple(tuple(replace(s, coefs=coefs(s.coefs)) for s in dim) for dim in access.splits)
    return replace(access, dims=tuple(map(coefs, access.dims)), splits=splits)


def other_way(nest):
    def statement(s):
        digits = [Digit("unit", "serial", ONE), *(p for d in s.digits for p in parts(d))]
        reads = tuple(rewritten(r, s.digits) for r in s.reads)
        return replace(s, digits=tuple(digits), reads=reads, write=rewritten(s.write, s.digits))

    return replace(nest, kernels=tuple(tuple(map(statement, k)) for k in nest.kernels))


@pytest.mark.parametrize(("spec", "chip"), SPECS)
def test_digits_may_be_cut_and_padded_with_units(candidates, spec, chip):
    for c in candidates(spec, chip, 3, 11):
        nest = tir.nest(c.schedule, c.problem.workload)
        backend = c.problem.chip.backend
        one, other = kernel_table(nest, backend), kernel_table(other_way(nest), backend)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize(("spec", "chip"), SPECS)
def test_candidates_in_one_nest_or_apart(candidates, spec, chip):
    """Two equal candidates as columns of length 2 give each its own rows, in order."""
    c = candidates(spec, chip, 1, 13)[0]
    nest = tir.nest(c.schedule, c.problem.workload)
    backend = c.problem.chip.backend
    alone, together = kernel_table(nest, backend), kernel_table(twice(nest), backend)
    assert together["candidate"].tolist() == [0] * len(alone) + [1] * len(alone)
    for name in (n for n in alone if n != "candidate"):
        np.testing.assert_array_equal(np.tile(alone[name], 2), together[name], err_msg=name)


def twice(value):
    """Every column of a nest repeated."""
    if isinstance(value, np.ndarray):
        return np.concatenate([value, value])
    if isinstance(value, tuple):
        return tuple(map(twice, value))
    if isinstance(value, dict):
        return {k: twice(v) for k, v in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        changed = {f: twice(getattr(value, f)) for f in value.__dataclass_fields__}
        return replace(value, **{**changed, **({"n": 2} if "n" in changed else {})})
    return value
