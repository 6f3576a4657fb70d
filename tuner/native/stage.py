"""The C++ engine in the place of numpy in a trial stage."""

from __future__ import annotations

from hwsim.chip import Chip
from pruner.recording.stage import RecordedStage
from tuner.native.engine import NativeEngine
from tuner.native.library import NativeError, library, ready


def native_stage(chip: Chip) -> RecordedStage | None:
    """An engine where the library has been built and loads, else ``None``: numpy serves."""
    if not ready():
        return None
    try:
        library()
    except (NativeError, OSError):
        return None
    return RecordedStage(chip, NativeEngine)
