"""``kafka-gateway policies``."""

from __future__ import annotations

from gateway import exit_codes
from gateway.policies.schema import schema_text
from tests.commands.running import command


async def test_the_schema_is_printed() -> None:
    said = await command("policies", "schema")
    assert (said.status, said.err) == (exit_codes.OK, "")
    assert said.out == schema_text()
    assert said.json["properties"].keys() == {"policies"}


async def test_an_action_is_needed() -> None:
    said = await command("policies")
    assert said.status == exit_codes.USAGE
    assert said.err.startswith("usage: kafka-gateway policies ")
