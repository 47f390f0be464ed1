"""Lines of a traffic log for tests, each with a client id by which it is found again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spark import records, schema
from spark.table import Table

TIME_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC."""

DAY_MS = 86_400_000


def line(name: str, **values: Any) -> str:
    """A flow record, without the newline."""
    record = {
        "kind": "flow",
        "schema_version": schema.SCHEMA_VERSION,
        "id": name,
        "gateway_id": "gateway",
        "worker_id": 0,
        "time_ms": TIME_MS,
        "window_ms": 10_000,
        "listener": "main",
        "principal": "User:ANONYMOUS",
        "client_id": name,
        "namespace": "org:apache",
        "requests": 2,
        "errors": {"NONE": 2},
        "gateway_us_quarters": {"4": 2},
    }
    return json.dumps(record | values, separators=(",", ":"))


def numbered(first: int, count: int, **values: Any) -> list[str]:
    """Lines with the ids ``first``, ``first + 1``, …"""
    return [line(str(number), **values) for number in range(first, first + count)]


def ids_in(table: Table) -> list[int]:
    """The ids of the records in a table, sorted, each as often as the table has it."""
    return sorted(int(r.client_id) for r in records.read_table(table.spark, table.path).collect())


def finished_file(path: Path, lines: Iterable[str]) -> Path:
    """A compressed file, made as by the gateway: no reader sees a part of it."""
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_bytes(compressed(lines))
    return unfinished.replace(path)


def compressed(lines: Iterable[str]) -> bytes:
    """The content of a compressed file."""
    return gzip.compress("".join(f"{one}\n" for one in lines).encode())
