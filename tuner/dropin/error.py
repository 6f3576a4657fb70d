"""What a user of :func:`tuner.tune_tir` gets to see when something is wrong."""

from __future__ import annotations


class TuneError(ValueError):
    """Tuning cannot start or has found nothing; the message is one line for the user."""


class TuneWarning(UserWarning):
    """Something that a user should know although tuning went on; one line."""
