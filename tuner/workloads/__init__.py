"""Workloads: TIR programs by spec, by catalogue name or from a user's file.

Importing this package does not import TVM; :meth:`Workload.prim_func` does.
"""

from tuner.workloads.resolve import KINDS, catalogue, resolve
from tuner.workloads.workload import GENERATED, SPACES, Kind, Workload, WorkloadError

__all__ = [
    "GENERATED",
    "KINDS",
    "SPACES",
    "Kind",
    "Workload",
    "WorkloadError",
    "catalogue",
    "resolve",
]
