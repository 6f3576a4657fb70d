"""Values into a struct, with errors of one line that name the path, and all that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.inspect import DictType, FloatType, IntType, ListType, StructType, Type, type_info

from hwsim.chip import ChipError

_AT = re.compile(r"^(?P<what>.*?)(?: - at (`key` in )?`\$(?P<at>[^`]*)`)?$", re.DOTALL)
_FIELD = re.compile(r"^Object (contains unknown|missing required) field `(?P<field>[^`]*)`$")
_BEYOND = re.compile(r"^Expected `(?P<kind>int|float)` [<>]")
_STEP = re.compile(r"\.(?P<field>\w+)|\[[^]]*\]")
_BOUNDS = (("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))


def convert(value: Any, struct: type[Any], base: str) -> Any:
    """``msgspec.convert``; ``ChipError`` has the full path, which begins with ``base``."""
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        what, at = (found["what"], found["at"] or "") if found else (str(error), "")
        field = _FIELD.match(what)
        if field is not None and "missing" in what:
            paths = [f"`{path}`" for path in _missing(value, _info(struct), base)]
            many = "s" if len(paths) > 1 else ""
            raise ChipError(f"missing field{many} {', '.join(paths)}") from None
        if field is not None:
            raise ChipError(f"unknown field `{base}{at}.{field['field']}`") from None
        beyond = _BEYOND.match(what)
        if beyond is not None:
            what = f"Expected `{beyond['kind']}` {_range(_info(struct), at)}"
        raise ChipError(f"`{base}{at}`: {what}") from None


def _info(struct: type[Any]) -> StructType:
    info = type_info(struct)
    assert isinstance(info, StructType)
    return info


def _missing(value: dict[str, Any], struct: StructType, base: str) -> Iterator[str]:
    """Paths of all required fields that are not there."""
    for field in struct.fields:
        path = f"{base}.{field.name}"
        if field.name not in value:
            if field.required:
                yield path
        elif isinstance(field.type, StructType) and isinstance(value[field.name], dict):
            yield from _missing(value[field.name], field.type, path)


def _range(struct: StructType, at: str) -> str:
    """The bounds of the number at a path: ``>= 1 and <= 4,096``."""
    info: Type = struct
    for step in _STEP.finditer(at):
        if isinstance(info, StructType):
            info = next(f.type for f in info.fields if f.name == step["field"])
        elif isinstance(info, DictType):
            info = info.value_type
        elif isinstance(info, ListType):
            info = info.item_type
    assert isinstance(info, IntType | FloatType)
    bounds = ((sign, getattr(info, name)) for name, sign in _BOUNDS)
    return " and ".join(f"{sign} {bound:,.10g}" for sign, bound in bounds if bound is not None)
