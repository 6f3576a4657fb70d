"""Arms: the pruning configurations that a benchmark compares."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Arm:
    """One pruning configuration.

    ``task``: the task stage shrinks the options before the search.  ``rules`` and ``gate``: the two
    halves of the trial stage.  ``graph_prior``: a pre-trained network speaks until the gate can.
    ``tvm``: TVM's own evolutionary search instead of ours, untouched.
    """

    name: str
    doc: str
    task: bool = False
    rules: bool = False
    gate: bool = False
    graph_prior: bool = False
    tvm: bool = False


ARMS = {
    arm.name: arm
    for arm in (
        Arm("none", "no pruning: the control"),
        Arm("task", "task stage alone", task=True),
        Arm("trial", "trial stage alone: rules, then the learned gate", rules=True, gate=True),
        Arm("two-stage", "task stage, then trial stage", task=True, rules=True, gate=True),
        Arm(
            "meta",
            "two-stage; a pre-trained graph network prunes and orders until the gate has data",
            task=True,
            rules=True,
            gate=True,
            graph_prior=True,
        ),
        Arm("tvm", "TVM's own evolutionary search, untouched: the outside baseline", tvm=True),
    )
}


class ArmError(ValueError):
    """An arm that does not exist or cannot run here; the message is one line for the user."""


def arms_named(text: str) -> list[Arm]:
    """Arms from a comma-separated list, in that order."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ArmError("no arm given, expected a list such as none,two-stage")
    for name in names:
        if names.count(name) > 1:
            raise ArmError(f"arm {name!r} is given twice, expected each once")
    return [arm_named(name) for name in names]


def arm_named(name: str) -> Arm:
    """The arm of that name, which has to be able to run here."""
    if name not in ARMS:
        raise ArmError(f"arm {name!r}: expected one of {', '.join(ARMS)}")
    check_installed(ARMS[name])
    return ARMS[name]


def check_installed(arm: Arm) -> None:
    """``ArmError`` where the arm needs an extra that is not installed."""
    if arm.tvm and find_spec("xgboost") is None:
        raise ArmError(
            f"arm {arm.name} needs the extra tvm-search: pip install 'prunelab[tvm-search]'"
        )
