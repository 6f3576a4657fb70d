"""The knowledge of operator patterns: a table in TOML, and users' own tables in its place."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from pruner.rule import RuleError
from pruner.task import Decision, Meaning, Role, Task

SHIPPED = Path(__file__).with_name("patterns.toml")


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a pattern of operators forbids; ``patterns.toml`` says what each field means."""

    operators: tuple[str, ...]
    role: Role
    most: Annotated[int, msgspec.Meta(ge=1)]
    why: Annotated[str, msgspec.Meta(min_length=1)]
    meaning: Meaning | None = None
    reduction: bool | None = None

    def applies(self, task: Task, decision: Decision) -> bool:
        """Whether the task has the operators and the decision is one that the pattern speaks of."""
        axis = decision.axis
        return (
            self.role in decision.roles
            and self.meaning in (None, decision.meaning)
            and (self.reduction is None or (axis is not None and axis.reduction == self.reduction))
            and _in_order(self.operators, task.operators)
        )


@cache
def patterns(path: str | Path = SHIPPED) -> dict[str, Pattern]:
    """The patterns of a file by name.

    Raises
    ------
    RuleError
        The file cannot be read, or a field is missing, unknown or absurd; one line names it.
    """
    try:
        return msgspec.toml.decode(Path(path).read_bytes(), type=dict[str, Pattern])
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise RuleError(f"{path}: {error}") from None


def _in_order(wanted: tuple[str, ...], found: tuple[str, ...]) -> bool:
    rest = iter(found)
    return all(operator in rest for operator in wanted)
