"""The pruner in C++ over TVM's FFI: the same rules, recorded, without Python's cost a candidate."""

from tuner.native.engine import NativeEngine
from tuner.native.library import NativeError

__all__ = ["NativeEngine", "NativeError"]
