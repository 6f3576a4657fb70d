"""Tensor intrinsics of the matrix units: ``C[m, n] += A[m, k] * B[k, n]`` on the unit's own scopes.

The implementation of an intrinsic is the plain loops of its description over buffers with strides,
under a block annotation ``prunelab.intrin`` that names it.  So a tensorized program shows what the
matrix unit does and still runs on a CPU.
"""

# TVMScript evaluates the annotations of the functions below: no `from __future__` import here.
from dataclasses import dataclass
from functools import cache
from typing import Any

from tvm.s_tir import TensorIntrin
from tvm.script import tirx as T

from tuner.spaces.fast_script import bare_stack

ANNOTATION = "prunelab.intrin"


@dataclass(frozen=True)
class MatrixUnit:
    """Where a matrix unit takes its operands and what one instruction multiplies, in elements."""

    chip_family: str
    m: int
    n: int
    k: int
    dtype: str
    accumulator: str
    scope_a: str
    scope_b: str
    scope_c: str

    @property
    def name(self) -> str:
        """Name of the intrinsic, e.g. ``ascend_mmad_16x16x16_float16``."""
        return f"{self.chip_family}_mmad_{self.m}x{self.n}x{self.k}_{self.dtype}"


@cache
def register(unit: MatrixUnit) -> Any:
    """Register the intrinsic of ``unit`` with TVM; its description, a PrimFunc."""
    with bare_stack():
        description, loops = matmul_loops(unit), matmul_loops(unit, strided=True)
    TensorIntrin.register(unit.name, description, loops, override=True)
    return description


def matmul_loops(unit: MatrixUnit, strided: bool = False) -> Any:
    """The product as a PrimFunc; ``strided`` takes any row pitch and carries the annotation."""
    m, n, k, acc = unit.m, unit.n, unit.k, unit.accumulator
    attrs = {ANNOTATION: unit.name} if strided else {}

    def widened(value: Any) -> Any:
        return value if unit.dtype == acc else T.Cast(acc, value)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def loops(a: T.handle, b: T.handle, c: T.handle) -> None:
        a0, a1, b0, b1, c0, c1 = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
        A = T.match_buffer(
            a, (m, k), unit.dtype, offset_factor=1, scope=unit.scope_a,
            strides=[a0, a1] if strided else [],
        )  # fmt: skip
        B = T.match_buffer(
            b, (k, n), unit.dtype, offset_factor=1, scope=unit.scope_b,
            strides=[b0, b1] if strided else [],
        )  # fmt: skip
        C = T.match_buffer(
            c, (m, n), acc, offset_factor=1, scope=unit.scope_c,
            strides=[c0, c1] if strided else [],
        )  # fmt: skip
        with T.sblock("root"):
            T.reads(C[0:m, 0:n], A[0:m, 0:k], B[0:k, 0:n])
            T.writes(C[0:m, 0:n])
            T.sblock_attr(attrs)
            for i, j, r in T.grid(m, n, k):
                with T.sblock("mmad"):
                    vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                    C[vi, vj] = C[vi, vj] + widened(A[vi, vr]) * widened(B[vr, vj])

    return loops
