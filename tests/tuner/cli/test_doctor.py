"""``prunelab doctor``: the versions that the project pins."""

from __future__ import annotations

import json
import re

import pytest

from .said import Cli


def test_doctor_finds_what_the_project_pins(cli: Cli) -> None:
    from importlib.metadata import requires

    from tuner.cli.doctor import FFI, TVM

    assert {f"apache-tvm=={TVM}", f"apache-tvm-ffi=={FFI}"} <= set(requires("prunelab") or ())
    said = cli("doctor", "--format", "json")
    assert said.code == 0
    assert all(check["state"] in ("ok", "missing") for check in json.loads(said.out))


def test_doctor_names_another_version(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.cli.doctor.FFI", "0.0.1")
    said = cli("doctor")
    assert said.code == 1
    assert re.search(r"apache-tvm-ffi +broken +\S+, expected 0\.0\.1", said.out)
