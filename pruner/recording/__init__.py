"""A rule's numpy code run once over recorded columns: a programme that other engines interpret."""

from pruner.recording.graph import NotRecordable
from pruner.recording.programme import Programme
from pruner.recording.record import Recorded, Recorder, record

__all__ = ["NotRecordable", "Programme", "Recorded", "Recorder", "record"]
