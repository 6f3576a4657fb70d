"""What a rule is: a frozen dataclass whose fields are its parameters, and one pure method.

A trial rule looks at a whole kernel table at once and answers with a :class:`Finding`, columns of
shape ``(n,)`` over the table's rows.  A task rule looks at the values of one sampling instruction
before the search starts; its side of the contract is in :mod:`pruner.task`.

A rule never sees latencies, never draws random numbers and never writes to the table;
:mod:`pruner.testing` holds a rule to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.verdict import Stage

BoolColumn = NDArray[np.bool_]
FloatColumn = NDArray[np.float64]


# Metadata of a rule's field that follows the run instead of being a parameter: it is not printed.
# A rule with such a field has ``with_best(best_us)``, which the trial stage calls, or, where it is
# a hard limit that is put to the test, ``with_proven(need)`` (:mod:`pruner.limits`).
RUN_STATE = {"run_state": True}


class RuleError(ValueError):
    """A rule that cannot be found, parsed or loaded; the message is one line for the user."""


@dataclass(frozen=True)
class Finding:
    """What a trial rule found for ``n`` rows; ``keep``, ``need`` and ``have`` have shape ``(n,)``.

    Parameters
    ----------
    keep:
        False where the row has to go.
    quantity:
        Name of what is compared, e.g. ``"l0a_bytes"``.
    need, have:
        The two sides, in ``unit``: what the candidate asks for and what the chip (or the policy)
        grants.
    reason, benefit:
        Sentences; ``{need}``, ``{have}``, ``{unit}``, ``{excess}`` (need - have) and the rule's
        fields are filled in for the row that decides.
    basis:
        Paths of the chip's fields the rule leans on.
    """

    keep: BoolColumn
    quantity: str
    need: FloatColumn
    have: FloatColumn
    unit: str
    reason: str
    benefit: str = "one trial that could not win"
    basis: tuple[str, ...] = ()

    def violation(self) -> FloatColumn:
        """How far each row is beyond its limit, 0 where it is kept: ``|log(need / have)|``."""
        need, have = np.maximum(self.need, 1e-12), np.maximum(self.have, 1e-12)
        size: FloatColumn = np.abs(np.log(need) - np.log(have)) + 1e-9
        return np.where(self.keep, 0.0, size)


@runtime_checkable
class Rule(Protocol):
    """A trial rule.

    ``backends`` are those it knows; ``hard`` says that what it prunes would certainly fail on the
    chip (a limit), rather than merely be slow.
    """

    name: ClassVar[str]
    stage: ClassVar[Stage]

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends whose tables the rule can read."""
        ...

    @property
    def hard(self) -> bool:
        """Whether what it prunes would certainly fail."""
        ...

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Columns of shape ``(n,)`` over the rows of ``table``; pure."""
        ...


def limit(
    quantity: str,
    need: NDArray[np.generic],
    have: float,
    unit: str,
    *,
    reason: str,
    benefit: str,
    basis: tuple[str, ...] = (),
) -> Finding:
    """The commonest finding: keep where ``need <= have``, ``have`` one number for all rows."""
    wanted = np.asarray(need, dtype=np.float64)
    granted = np.full(len(wanted), float(have))
    return Finding(
        wanted <= granted, quantity, wanted, granted, unit, reason, benefit, tuple(basis)
    )
