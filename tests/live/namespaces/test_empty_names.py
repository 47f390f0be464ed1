"""A topic without a name: the gateway responds as a broker, at every API and version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from protocol import messages
from protocol.entities import Kind, kind_of
from protocol.schema import StructSpec, api_key_of, message_spec
from tests.live.support.wire import Wire
from tests.session import samples
from tests.session.pair import topic_id

NO_TOPIC = topic_id(0)

NAMING = frozenset({Kind.TOPIC_NAME, Kind.RESOURCE_NAME})

BEFORE_KAFKA_4 = {("CreateTopics", 0): 2, ("CreateTopics", 1): 2}
"""Versions that this broker no longer serves, and the version that is sent instead."""


def _names_topics(message: str, spec: StructSpec) -> bool:
    return any(
        _names_topics(message, field.struct)
        if field.struct is not None
        else kind_of(message, field) in NAMING
        for field in spec.fields
    )


CASES = [
    pytest.param(api, version, id=f"{api}-v{version}")
    for api, version in (*samples.decided(), *samples.decided(here=True))
    if _names_topics(f"{api}Request", message_spec(f"{api}Request", version).body)
]


def _codes(value: object) -> Iterator[int]:
    """Every error code of a response, in order."""
    if isinstance(value, tuple):
        for item in value:
            yield from _codes(item)
    elif is_dataclass(value):
        for field in fields(value):
            inner = getattr(value, field.name)
            if field.name.endswith("error_code"):
                yield int(inner)
            else:
                yield from _codes(inner)


def _answered(address: str, api: str, version: int) -> list[int]:
    asked = messages.write(samples.request(api, version, "", NO_TOPIC))
    with Wire(address) as wire:
        answer = wire.exchange(api_key_of(f"{api}Request"), version, asked)
    return list(_codes(messages.parse(f"{api}Response", version, answer)))


@pytest.mark.parametrize(("api", "version"), CASES)
def test_as_a_broker_does(
    gateway: GatewayProcess, kafka: KafkaCluster, api: str, version: int
) -> None:
    told = _answered(gateway.bootstrap_servers("colon"), api, version)
    at_broker = BEFORE_KAFKA_4.get((api, version), version)
    assert told == _answered(kafka.bootstrap_servers, api, at_broker)
    assert told
