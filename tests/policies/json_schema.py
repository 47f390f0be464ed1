"""The part of JSON Schema that the schemas of policies and of the Helm chart's values use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_ELSEWHERE = {"$schema", "$defs", "title", "description", "default"} | {
    "properties",
    "patternProperties",
    "additionalProperties",
}


def mistakes(value: Any, schema: Any, root: dict[str, Any], at: str = "") -> list[str]:
    """Where a value violates a schema, whose keywords are all known here."""
    return list(_mistakes(value, schema, root, at))


def _mistakes(value: Any, schema: Any, root: dict[str, Any], at: str) -> Iterator[str]:
    if schema is False:
        yield at
        return
    yield from _properties(value, schema, root, at)
    for word, rule in schema.items():
        if word == "$ref":
            yield from _mistakes(value, root["$defs"][rule.rpartition("/")[2]], root, at)
        elif word == "anyOf":
            if all(mistakes(value, each, root, at) for each in rule):
                yield at
        elif word == "items":
            for index, item in enumerate(value if isinstance(value, list) else ()):
                yield from _mistakes(item, rule, root, f"{at}[{index}]")
        elif word not in _ELSEWHERE and not _KEEPS[word](value, rule):
            yield at


def _properties(value: Any, schema: Any, root: dict[str, Any], at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        where = f"{at}.{key}" if at else key
        rules = [schema["properties"][key]] if key in schema.get("properties", {}) else []
        patterns = schema.get("patternProperties", {})
        rules += [rule for pattern, rule in patterns.items() if re.search(pattern, key)]
        for rule in rules or [schema.get("additionalProperties", {})]:
            yield from _mistakes(inner, rule, root, where)


_KEEPS: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda value, name: _TYPES[name](value),
    "enum": lambda value, values: value in values,
    "minimum": lambda value, least: not isinstance(value, int) or value >= least,
    "maximum": lambda value, most: not isinstance(value, int) or value <= most,
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "pattern": lambda value, text: not isinstance(value, str) or bool(re.search(text, value)),
    "minItems": lambda value, least: not isinstance(value, list) or len(value) >= least,
    "required": lambda value, keys: not isinstance(value, dict) or set(keys) <= set(value),
    "minProperties": lambda value, least: not isinstance(value, dict) or len(value) >= least,
}
