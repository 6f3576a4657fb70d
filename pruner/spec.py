"""Printing a rule and parsing it back: ``reduce-thread-split{max_length=32}``.

A value is a number, ``true``/``false``, a bare word, a JSON string or a ``[...]`` list of those.
All fields are printed, so that a line of a log says the same after a default has changed; fields
that are left out when parsing take their defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

import msgspec

from pruner.rule import RuleError

_SPEC = re.compile(r"\s*([a-z][a-z0-9-]*)\s*(?:\{(.*)\})?\s*", re.DOTALL)
_ITEM = re.compile(
    r"""\s*([a-z_][a-z0-9_]*)\s*=\s*("(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^\s,{}\[\]"=]+)\s*(?:,|$)""",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def parameters(rule: Any) -> dict[str, Any]:
    """The rule's fields in order, which are its parameters (the state of a run is none)."""
    return {f.name: getattr(rule, f.name) for f in fields(rule) if "run_state" not in f.metadata}


def print_rule(rule: Any) -> str:
    """The canonical text of a rule; :func:`parse_rule` gives an equal rule back."""
    items = ",".join(f"{name}={_print(value)}" for name, value in parameters(rule).items())
    return f"{rule.name}{{{items}}}" if items else str(rule.name)


def parse_rule(text: str, known: Mapping[str, type[Any]]) -> Any:
    """A rule from its text, given the classes by name.

    Raises
    ------
    RuleError
        Bad syntax, an unknown rule or field, or a value of the wrong type.
    """
    name, given = split_spec(text)
    if name not in known:
        raise RuleError(f"rule {name!r}: unknown; known: {', '.join(sorted(known))}")
    cls = known[name]
    hints = get_type_hints(cls)
    names = [f.name for f in fields(cls) if "run_state" not in f.metadata]
    for field in given:
        if field not in names:
            expected = ", ".join(names) or "no parameter"
            raise RuleError(f"rule {name!r}: unknown parameter {field!r}, expected {expected}")
    values = {field: _convert(name, field, value, hints[field]) for field, value in given.items()}
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise RuleError(f"rule {name!r}: {error}") from None


def split_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Name and raw parameters of a printed rule; ``RuleError`` shows where the syntax breaks."""
    match = _SPEC.fullmatch(text)
    if match is None:
        raise RuleError(f"rule {text!r}: expected name{{field=value,...}}")
    body, at, given = (match[2] or "").rstrip(), 0, {}
    while at < len(body):
        item = _ITEM.match(body, at)
        if item is None:
            raise RuleError(f"rule {text!r}: expected field=value at {body[at:]!r}")
        if item[1] in given:
            raise RuleError(f"rule {text!r}: parameter {item[1]!r} given twice")
        given[item[1]], at = _parse(item[2], text), item.end()
    return match[1], given


def _print(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(_print(v) for v in value) + "]"
    if isinstance(value, str) and _WORD.fullmatch(value) and value not in _WORDS_WITH_MEANING:
        return value
    return json.dumps(value)


_WORDS_WITH_MEANING = {"true": True, "false": False, "null": None, "NaN": None, "Infinity": None}


def _parse(text: str, spec: str) -> Any:
    if text.startswith("["):
        inner = text[1:-1].strip()
        return [_parse(part.strip(), spec) for part in _split_list(inner)] if inner else []
    if _WORD.fullmatch(text) and text not in _WORDS_WITH_MEANING:
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise RuleError(f"rule {spec!r}: {text!r} is no number, word, string or list") from None


def _split_list(text: str) -> list[str]:
    return re.findall(r"""\s*("(?:[^"\\]|\\.)*"|[^,]+)\s*(?:,|$)""", text)


def _convert(rule: str, field: str, value: Any, hint: Any) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        raise RuleError(f"rule {rule!r}: parameter {field!r}: {error}") from None
