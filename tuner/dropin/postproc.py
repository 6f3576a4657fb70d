"""The pruner as a postprocessor and in mutators, and containment of TVM's own."""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule import _ffi_api
from tvm.s_tir.meta_schedule.mutator import PyMutator
from tvm.s_tir.meta_schedule.postproc import PyPostproc

from tuner.dropin.screen import Screen


@derived_object
class PrunePostproc(PyPostproc):  # type: ignore[misc]
    """Asks a :class:`Screen`; stands before TVM's own postprocessors, so that it saves them."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, sch: Any) -> bool:
        """False prunes the schedule; the verdict is in the log by then."""
        return self._screen.keep(sch)

    def clone(self) -> Any:
        """A postprocessor that asks the same screen."""
        return PrunePostproc(self._screen)


@derived_object
class Contained(PyPostproc):  # type: ignore[misc]
    """One of TVM's own, whose exceptions reject a candidate instead of ending the run."""

    def __init__(self, inner: Any, screen: Screen) -> None:
        super().__init__()
        self._inner, self._screen = inner, screen

    def _initialize_with_tune_context(self, context: Any) -> None:
        self._inner._initialize_with_tune_context(context)

    def apply(self, sch: Any) -> bool:
        """What the inner one says; False where it raises."""
        try:
            return bool(self._inner.apply(sch))
        except Exception as error:
            kind, lines = type(self._inner).__name__, str(error).strip().splitlines() or [""]
            self._screen.log.note(self._screen.task, f"TVM's {kind} raised: {lines[-1]}")
            return False

    def clone(self) -> Any:
        """A container of a clone."""
        return Contained(self._inner.clone(), self._screen)


@derived_object
class PruneMutator(PyMutator):  # type: ignore[misc]
    """One of TVM's mutators that gives up where it would take a value that the task stage pruned:
    TVM tries again, and nothing is replayed for it.
    """

    def __init__(self, inner: Any, screen: Screen) -> None:
        super().__init__()
        self._inner, self._screen = inner, screen

    def _initialize_with_tune_context(self, context: Any) -> None:
        self._inner._initialize_with_tune_context(context)

    def apply(self, trace: Any, rand_state: int) -> Any:
        """The mutated trace; None where there is none."""
        try:
            mutated = _ffi_api.MutatorApply(self._inner, trace, rand_state)
        except Exception:
            return None  # a mutation that fails is drawn again
        if mutated is None or self._screen.shrunk.verdict(mutated) is not None:
            return None
        return mutated

    def clone(self) -> Any:
        """A mutator around a clone."""
        return PruneMutator(self._inner.clone(), self._screen)
