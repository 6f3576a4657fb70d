"""Runs as data: the schema of logs, writing, tolerant reading, exact resume."""

from traces.log import LogError, LogWriter, read, read_header
from traces.schema import (
    End,
    Header,
    Measurement,
    Note,
    Record,
    TaskPrune,
    TaskSummary,
    Trial,
)

__all__ = [
    "End",
    "Header",
    "LogError",
    "LogWriter",
    "Measurement",
    "Note",
    "Record",
    "TaskPrune",
    "TaskSummary",
    "Trial",
    "read",
    "read_header",
]
