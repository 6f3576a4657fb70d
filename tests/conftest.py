"""What all tests share: the ``golden`` fixture and its ``--update-golden``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew, do not compare"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """``golden(name, value)`` holds a JSON value against ``tests/golden/<name>.json``."""

    def check(name: str, value: Any) -> None:
        path = GOLDEN / f"{name}.json"
        text = json.dumps(value, indent=1, sort_keys=True) + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing: run `make golden` and read the difference"
        assert json.loads(path.read_text(encoding="utf-8")) == json.loads(text)

    return check
