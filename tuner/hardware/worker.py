"""What the compile workers do, in processes of their own."""

from __future__ import annotations

import os
import tempfile
from typing import Any


def build(mod: Any, target: Any, suffix: str) -> str:
    """Compile a module for ``target``; the path of the library, alone in a folder of its own.

    ``suffix``: ``so`` links here, ``tar`` leaves it to the board that loads it.
    """
    import tvm
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock
    from tvm.support.tar import tar

    mod = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod)
    library = tvm.compile(mod, target=target)
    path = os.path.join(tempfile.mkdtemp(prefix="prunelab-"), f"candidate.{suffix}")
    library.export_library(path, **({"fcompile": tar} if suffix == "tar" else {}))
    return path
