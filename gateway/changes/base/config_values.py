"""Compares values of configs as clients write them with values as brokers describe them."""

from __future__ import annotations

from typing import Final

_LIST_SEPARATOR: Final = ","
_BOOLEANS: Final = frozenset({"true", "false"})


def is_same_value(one: str | None, other: str | None) -> bool:
    """Whether a broker reads two values of a config as the same value; None is no value.

    The catalog keeps values as clients have written them, and a broker describes the parsed value
    (``ConfigDef.parseType`` and ``convertToString``): ``+0100`` becomes ``100``, ``compact,
    delete`` becomes ``compact,delete``, ``0.50`` becomes ``0.5`` and ``TRUE`` becomes ``true``.
    """
    if one == other or one is None or other is None:
        return one == other
    return _read(one) == _read(other)


def _read(value: str) -> list[object]:
    return [_item(item.strip()) for item in value.strip().split(_LIST_SEPARATOR)]


def _item(text: str) -> object:
    # Whole numbers first: a float cannot hold Kafka's largest numbers.
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    lowered = text.lower()
    return lowered if lowered in _BOOLEANS else text
