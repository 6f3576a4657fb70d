"""All that knows TVM: design spaces, searches, measuring, the benchmark and the command line.

``tuner.tune_tir`` and ``tuner.register_callback`` are :mod:`tuner.dropin`'s; TVM is imported when
they are first asked for.
"""

from typing import Any

__all__ = ["register_callback", "tune_tir"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tuner import dropin

    return getattr(dropin, name)
