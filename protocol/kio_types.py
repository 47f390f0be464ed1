"""The parts of kio that ``protocol/`` uses, loaded without hypothesis.

If hypothesis is installed, kio imports it, to register strategies for its own tests, which costs
each worker and command 0.1 s and 7 MiB. If hypothesis is loaded already, as in our tests, it is not
hidden from kio.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "Entity",
    "EntityType",
    "ErrorCode",
    "InvalidUnicode",
    "LoadableEntityType",
    "Records",
    "SerialError",
    "TZAware",
    "api_key_map",
    "entity_reader",
    "entity_writer",
    "load_entity_schema",
    "readers",
    "schema_name_map",
    "writers",
]


@contextmanager
def _without_hypothesis() -> Iterator[None]:
    modules: dict[str, Any] = sys.modules
    if "hypothesis" in modules:
        yield
        return
    modules["hypothesis"] = None  # importing it raises ModuleNotFoundError then
    try:
        yield
    finally:
        del modules["hypothesis"]


with _without_hypothesis():
    from kio.index import load_entity_schema
    from kio.schema.errors import ErrorCode
    from kio.schema.index import LoadableEntityType, api_key_map, schema_name_map
    from kio.serial import entity_reader, entity_writer, readers, writers
    from kio.serial.errors import InvalidUnicode, SerialError
    from kio.static.constants import EntityType
    from kio.static.primitive import Records, TZAware
    from kio.static.protocol import Entity
