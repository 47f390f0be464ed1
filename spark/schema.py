"""The traffic log's schema, as Spark reads it.

This is the job side of the contract that docs/traffic-log.md describes; a test compares it with
the gateway's side. All kinds of records have one schema: a column that a kind lacks is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

SCHEMA_VERSION: Final = 2
"""The newest version that the jobs know; its records may have further columns, which they
ignore."""

ColumnType = Literal["string", "integer", "long", "array<long>", "map<string,long>"]

_NEWEST: Final[tuple[tuple[str, ColumnType], ...]] = (
    ("kind", "string"),
    ("schema_version", "integer"),
    ("id", "string"),
    ("gateway_id", "string"),
    ("worker_id", "integer"),
    ("cluster", "string"),
    ("mount", "string"),
    ("time_ms", "long"),
    ("window_ms", "integer"),
    ("listener", "string"),
    ("principal", "string"),
    ("client_id", "string"),
    ("software_name", "string"),
    ("software_version", "string"),
    ("client_address", "string"),
    ("connections", "integer"),
    ("api", "string"),
    ("api_key", "integer"),
    ("api_version", "integer"),
    ("namespace", "string"),
    ("logical_topic", "string"),
    ("flat_topic", "string"),
    ("path", "string"),
    ("requests", "long"),
    ("led_requests", "long"),
    ("partitions", "long"),
    ("bytes_in", "long"),
    ("bytes_out", "long"),
    ("records", "long"),
    ("batches", "long"),
    ("records_out", "long"),
    ("batches_out", "long"),
    ("acks_0", "long"),
    ("acks_1", "long"),
    ("acks_all", "long"),
    ("idempotent", "long"),
    ("transactional", "long"),
    ("weak_producers", "map<string,long>"),
    ("errors", "map<string,long>"),
    ("denials", "map<string,long>"),
    ("gateway_us_quarters", "map<string,long>"),
    ("broker_us_quarters", "map<string,long>"),
    ("rule", "string"),
    ("error_code", "integer"),
    ("error", "string"),
    ("resource", "string"),
    ("message", "string"),
    ("operation", "string"),
    ("named", "string"),
    ("because", "string"),
    ("topic", "string"),
    ("source", "string"),
    ("mode", "string"),
    ("outcome", "string"),
    ("value", "long"),
    ("limit", "long"),
    ("acl", "string"),
)

EARLIER: Final[tuple[tuple[str, ColumnType], ...]] = (
    ("gateway_us_log2", "array<long>"),
    ("broker_us_log2", "array<long>"),
)
"""The columns that only records of version 1 have, in the place of the ``quarters``."""

COLUMNS: Final = (*_NEWEST, *EARLIER)
"""Names and types of all columns: the columns of :data:`SCHEMA_VERSION`, in the gateway's order,
and the columns that only earlier versions have."""

_NESTED: Final[dict[str, dict[str, Any]]] = {
    "array<long>": {"type": "array", "elementType": "long", "containsNull": False},
    "map<string,long>": {
        "type": "map",
        "keyType": "string",
        "valueType": "long",
        "valueContainsNull": False,
    },
}


def schema_json() -> dict[str, Any]:
    """The schema in the form in which Spark itself writes schemas down.

    Every column may be null, so that a record which lacks a column is quarantined by a job and not
    lost in a parser.
    """
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": _NESTED.get(kind, kind), "nullable": True, "metadata": {}}
            for name, kind in COLUMNS
        ],
    }


def traffic_log_schema() -> StructType:
    """The schema for ``spark.read.schema(...).json(...)``."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(schema_json())
