"""What the instructions of a trace work on: the program and the values of random variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm import prim
from tvm.ir import Var

from tuner.columns.expr import Expr, const
from tuner.columns.program import Block, Loop, Program, Unsupported


@dataclass
class Context:
    """The program so far, and what each random variable of the trace stands for."""

    program: Program
    values: dict[Any, Loop | Block | Expr | int] = field(default_factory=dict)

    def loop(self, rv: Any) -> Loop:
        """The loop that a random variable stands for."""
        found = self.values.get(rv)
        if not isinstance(found, Loop):
            raise Unsupported(f"{rv}: no loop that the interpreter knows")
        return found

    def block(self, rv: Any) -> Block:
        """The block that a random variable stands for."""
        found = self.values.get(rv)
        if not isinstance(found, Block):
            raise Unsupported(f"{rv}: no block that the interpreter knows")
        return found

    def value(self, operand: Any) -> Any:
        """An integer operand or a sampled one as expression; anything else as it is."""
        if isinstance(operand, Var):
            return self.values[operand]
        if isinstance(operand, int | prim.IntImm):
            return const(int(operand))
        return operand

    def define(self, rvs: Any, values: list[Any]) -> None:
        """Give the outputs of an instruction their values."""
        if len(rvs) != len(values):
            raise Unsupported(f"{len(rvs)} random variables for {len(values)} values")
        self.values.update(zip(rvs, values, strict=True))


Handler = Callable[[Context, Any], None]
