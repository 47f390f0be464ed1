"""spark.schema: the jobs read the records that the gateway writes."""

from __future__ import annotations

from gateway.traffic import record as traffic_record
from spark import schema


def test_both_sides_have_the_same_fields_and_types() -> None:
    gateway_side = [(field.name, field.type) for field in traffic_record.FIELDS]
    assert list(schema.COLUMNS) == [*gateway_side, *schema.EARLIER]
    assert schema.SCHEMA_VERSION == traffic_record.SCHEMA_VERSION


def test_the_schema_is_in_sparks_own_form() -> None:
    made = schema.schema_json()
    assert made["type"] == "struct"
    types = {field["name"]: field["type"] for field in made["fields"]}
    assert list(types) == [name for name, _ in schema.COLUMNS]
    assert types["kind"] == "string"
    assert types["api_key"] == "integer"
    assert types["bytes_in"] == "long"
    assert types["errors"] == {
        "type": "map",
        "keyType": "string",
        "valueType": "long",
        "valueContainsNull": False,
    }
    assert types["broker_us_log2"] == {
        "type": "array",
        "elementType": "long",
        "containsNull": False,
    }
    for field in made["fields"]:
        assert set(field) == {"name", "type", "nullable", "metadata"}
        assert field["nullable"] is True
        known = isinstance(field["type"], dict) or field["type"] in {"string", "integer", "long"}
        assert known, field
