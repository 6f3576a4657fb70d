"""Which exceptions are a user's mistake: they become one line and exit code 2."""

from __future__ import annotations

import sys

REGRESSION = 1
USAGE = 2
INTERRUPTED = 130

_CLASSES = (
    ("hwsim.by_hand", "ParameterError"),
    ("hwsim.chip", "ChipError"),
    ("hwsim.fidelity", "MeasuredError"),
    ("pruner.meta.model", "ModelError"),
    ("pruner.rule", "RuleError"),
    ("traces.log", "LogError"),
    ("tuner.arms", "ArmError"),
    ("tuner.bench.folder", "FolderError"),
    ("tuner.bench.pool", "WorkerError"),
    ("tuner.bench.saved", "ResultsError"),
    ("tuner.oracle.recipes", "OracleError"),
    ("tuner.search.strategy", "SearchError"),
    ("tuner.networks.network", "NetworkError"),
    ("tuner.hardware.address", "HardwareError"),
    ("tuner.spaces", "SpaceError"),
    ("tuner.workloads.workload", "WorkloadError"),
    ("tuner.written", "WrittenError"),
)


class UsageError(ValueError):
    """Arguments that do not make sense together; the message is one line for the user."""


class Interrupted(Exception):
    """Ctrl-C, where more is to say of it than that; the message is one line for the user."""


def user_errors() -> tuple[type[Exception], ...]:
    """The exception classes whose message is meant for the user.

    Nothing is imported for it: what was raised comes from a module that is loaded already, and a
    typing mistake should not wait for TVM.
    """
    loaded = ((sys.modules.get(module), name) for module, name in _CLASSES)
    return (UsageError, *(getattr(module, name) for module, name in loaded if module))
