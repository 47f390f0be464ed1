"""Values of configs, as clients write them and as brokers tell them."""

from __future__ import annotations

from typing import Final

_LIST_SEPARATOR: Final = ","
_BOOLEANS: Final = frozenset({"true", "false"})


def is_same_value(one: str | None, other: str | None) -> bool:
    """Whether a broker takes two values of a config for the same; None is none at all.

    The catalog keeps values as clients have written them, and a broker describes what it has read
    of them (``ConfigDef.parseType`` and ``convertToString``): of ``+0100`` it tells ``100``, of
    ``compact, delete`` ``compact,delete``, of ``0.50`` ``0.5`` and of ``TRUE`` ``true``.
    """
    if one == other or one is None or other is None:
        return one == other
    return _read(one) == _read(other)


def _read(value: str) -> list[object]:
    return [_item(item.strip()) for item in value.strip().split(_LIST_SEPARATOR)]


def _item(text: str) -> object:
    # Whole numbers first: the largest of Kafka's are no floats.
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    lowered = text.lower()
    return lowered if lowered in _BOOLEANS else text
