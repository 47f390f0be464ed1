"""Tagged fields that the gateway does not know reach brokers and clients unchanged."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from protocol import messages
from protocol.headers import response_header, response_header_version
from protocol.schema import api_key_of, message_spec
from tests.session import samples
from tests.session.pair import (
    Pair,
    frames,
    raw_frame,
    topic_id,
)

OWN = "team-a..orders"


TAG = b"\x01\x63\x05hello"
"""Tagged fields: a single field, number 99, five bytes."""

FLEXIBLE = [
    (api, version)
    for api, version in samples.decided()
    if message_spec(f"{api}Request", version).flexible and (api, version) != samples.CLIENT_METRICS
]


def with_tag(entity: Any) -> bytes:
    """The message with only an unknown tagged field at its end."""
    defaults = {f.name: f.default for f in fields(entity) if "tag" in f.metadata}
    body = messages.write(replace(entity, **defaults))
    assert body.endswith(b"\x00")
    return body[:-1] + TAG


@pytest.mark.parametrize(("api", "version"), FLEXIBLE)
def test_unknown_tagged_fields_pass(api: str, version: int) -> None:
    own = samples.forwarded(api, OWN)
    pair = Pair(topics=[own])
    name = samples.forwarded(api, "team-a:orders")
    asked = samples.request(api, version, name, topic_id(1))
    pair.send(raw_frame(api_key_of(f"{api}Request"), version, with_tag(asked)))
    assert pair.to_broker()
    header = response_header(7, response_header_version(api_key_of(f"{api}Request"), version))
    payload = header + with_tag(samples.response(api, version, own, topic_id(1), ""))
    pair.session.broker_data(len(payload).to_bytes(4, "big") + payload)
    assert len(frames(pair.to_client())) == 1
    assert pair.session.quiet


def test_unknown_tagged_fields_break_no_partial_answer() -> None:
    pair = Pair(topics=[OWN])
    cls = messages.message_class("ListOffsetsRequest", 7)
    names = ("nowhere:x", "team-a:orders")
    topics = tuple(samples.request("ListOffsets", 7, name, topic_id(1)).topics[0] for name in names)
    pair.send(raw_frame(2, 7, with_tag(messages.build(cls, topics=topics, replica_id=-1))))
    assert b"team-a..orders" in pair.to_broker()
    payload = response_header(7, 1) + with_tag(
        samples.response("ListOffsets", 7, OWN, topic_id(1), "")
    )
    pair.session.broker_data(len(payload).to_bytes(4, "big") + payload)
    answer = pair.answer("ListOffsets", 7)
    assert [topic.name for topic in answer.topics] == ["nowhere:x", "team-a:orders"]
