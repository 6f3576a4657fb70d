"""Which exceptions are a user's mistake: they become one line and exit code 2."""

from __future__ import annotations

USAGE = 2


class UsageError(ValueError):
    """Arguments that do not make sense together; the message is one line for the user."""


def user_errors() -> tuple[type[Exception], ...]:
    """The exception classes whose message is meant for the user."""
    from hwsim.by_hand import ParameterError
    from hwsim.chip import ChipError
    from hwsim.fidelity import MeasuredError
    from pruner.rule import RuleError
    from traces import LogError
    from tuner.arms import ArmError
    from tuner.bench.folder import FolderError
    from tuner.spaces import SpaceError
    from tuner.workloads import WorkloadError

    return (
        UsageError,
        ChipError,
        ParameterError,
        MeasuredError,
        RuleError,
        LogError,
        ArmError,
        FolderError,
        SpaceError,
        WorkloadError,
    )
