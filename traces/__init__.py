"""Runs as data: the schema of logs, writing, tolerant reading, exact resume."""

from traces.log import LogError, LogWriter, read, read_header
from traces.schema import (
    End,
    Header,
    Measurement,
    Note,
    Record,
    TaskSummary,
    TaskValue,
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
    "TaskSummary",
    "TaskValue",
    "Trial",
    "read",
    "read_header",
]
