"""The C++ engine, where there is a compiler to build it."""

import pytest

from tuner.native import library as native


@pytest.fixture(scope="session")
def library():
    """The engine's functions; a build that fails is a failure, no compiler is none."""
    if native.missing():
        pytest.skip("no C++ compiler or no ninja")
    return native.library()
