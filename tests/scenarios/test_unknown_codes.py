"""Codes that the gateway does not know, in the responses of all scenarios: an item with such a code
is an item with an error, and the response is the same as for Kafka's UNKNOWN_SERVER_ERROR.

Every error code and every 8-bit number (types, sources, states) is replaced, one at a time, in the
first and last version of each scenario in which a broker responds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from gateway.apis.table import APIS
from protocol import messages
from protocol.schema import FieldSpec, struct_spec
from tests.scenarios.entities import entity
from tests.scenarios.test_scenarios import Scenario, beginning, scenarios, version_sent

Path = tuple[str | int, ...]
"""Names of fields and positions in arrays."""

UNKNOWN: Final = {"error_code": 12345, "int16": 12345, "int8": 113}
KNOWN: Final = {"error_code": -1, "int16": -1, "int8": 4}
"""By wire type: an unknown value, and a value that is passed on unchanged."""

WHOSE: Final = frozenset({"resource_type"})
"""The type of an item's resource. The gateway requested no other type, and accepts none."""


def answered() -> dict[str, list[Scenario]]:
    """The scenarios in which a broker responds, by API, in their first and last version."""
    versions: dict[tuple[str, str], list[Scenario]] = {}
    for parameter in scenarios():
        scenario = parameter.values[0]
        steps = scenario.steps
        if "reply" in steps and steps.get("broker", steps["client"]) is not None:
            versions.setdefault((scenario.api, steps["title"]), []).append(scenario)
    found: dict[str, list[Scenario]] = {}
    for (api, _), each in versions.items():
        found.setdefault(api, []).extend({one.version: one for one in (each[0], each[-1])}.values())
    return found


ANSWERED: Final = answered()

OWN: Final = {
    *("SaslHandshake", "SaslAuthenticate", "DescribeAcls", "CreateAcls", "DeleteAcls"),
    *("DescribeUserScramCredentials", "AlterUserScramCredentials", "DescribeClientQuotas"),
    *("GetTelemetrySubscriptions", "PushTelemetry"),
}
"""The APIs that the gateway answers without a broker."""

IN_SESSIONS: Final = {"ShareAcknowledge"}
"""The APIs whose requests reach a broker only behind another request of the same connection
(tests/session/test_share_sessions.py)."""


def test_every_api_has_such_scenarios() -> None:
    assert ANSWERED.keys() == {api.name for api in APIS.values()} - OWN - IN_SESSIONS


@pytest.mark.parametrize("api", ANSWERED)
def test_an_unknown_code_is_an_error_like_others(api: str) -> None:
    fields: set[str] = set()
    reached: set[str] = set()
    for scenario in ANSWERED[api]:
        for path, kind in places(played(scenario)[0]):
            if path[-1] in WHOSE:
                continue
            _, expected = played(scenario, path, KNOWN[kind])
            _, got = played(scenario, path, UNKNOWN[kind])
            shown = [
                (place, of) for place, of in places(got) if value_at(got, place) == UNKNOWN[of]
            ]
            for place, of in shown:
                got = put(got, place, KNOWN[of])
            assert got == expected, f"v{scenario.version} {scenario.steps['title']}: {path}"
            name = ".".join(step for step in path if isinstance(step, str))
            fields.add(name)
            if shown:
                reached.add(name)
    assert fields == reached, "no scenario has one that reaches the client"


def played(scenario: Scenario, path: Path = (), code: int = 0) -> tuple[Any, Any]:
    """The broker's response in a scenario, with another code if there is a ``path``, and the
    client's."""
    pair, asked = beginning(scenario)
    assert pair.ask(scenario.api, scenario.version, asked) is not None
    sent_as = version_sent(scenario, pair)
    response_class = messages.message_class(f"{scenario.api}Response", sent_as)
    reply = entity(response_class, scenario.steps["reply"])
    if path:
        reply = put(reply, path, code)
    return reply, pair.reply(scenario.api, scenario.version, reply, sent=sent_as)


def places(value: Any, parent: Path = ()) -> Iterator[tuple[Path, str]]:
    """The place of each code in a message, and its wire type."""
    cls: Any = type(value)
    spec = struct_spec(cls)
    for field in spec.fields + spec.tagged:
        path = (*parent, field.name)
        held = getattr(value, field.name)
        if is_code(field):
            yield path, field.type
        elif field.struct is not None and field.array:
            for number, each in enumerate(held or ()):
                yield from places(each, (*path, number))
        elif field.struct is not None and held is not None:
            yield from places(held, path)


def is_code(field: FieldSpec) -> bool:
    """Whether a field is an error code or an 8-bit number, alone."""
    return not field.array and (
        field.type in ("error_code", "int8") or field.name.endswith("error_code")
    )


def value_at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def put(value: Any, path: Path, code: int) -> Any:
    """The message with another code at a place."""
    if not path:
        return code
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*value[:step], put(value[step], rest, code), *value[step + 1 :])
    return replace(value, **{step: put(getattr(value, step), rest, code)})
