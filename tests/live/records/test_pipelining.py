"""Many requests at once on a connection: all are answered, in the order they were sent."""

from __future__ import annotations

import struct
from collections.abc import Callable

from devkit.broker import KafkaCluster
from protocol import messages
from protocol.headers import request_header_version
from tests.live.support import clients
from tests.live.support.wire import Wire, entity, request_frame, response_body

Names = Callable[[str], str]

METADATA = 3
API_VERSIONS = 18
VERSION = 9
ROUNDS = 100


def test_answers_come_in_order(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    """Responses of the broker, the gateway's own, and responses that wait for a cluster refresh."""
    topic = f"team-a:{unique('orders')}"
    clients.create(colon, topic)
    clients.await_stored(kafka, topic.replace(":", ".."))
    asked = [topic, f"nowhere:{unique('orders')}", None]
    sent = bytearray()
    for number in range(ROUNDS):
        name = asked[number % 3]
        topics = None if name is None else [{"name": name}]
        values = {"topics": topics, "allow_auto_topic_creation": False}
        body = messages.write(entity(messages.message_class("MetadataRequest", VERSION), values))
        header = request_header_version(METADATA, VERSION)
        sent += request_frame(METADATA, VERSION, body, number, header)
        sent += request_frame(API_VERSIONS, 0, b"", ROUNDS + number)
    with Wire(colon) as wire:
        wire.send(bytes(sent))
        for number in range(ROUNDS):
            answer = response_body(METADATA, VERSION, number, wire.frame())
            found = messages.parse("MetadataResponse", VERSION, answer)
            names = {entry.name: int(entry.error_code) for entry in found.topics}
            name = asked[number % 3]
            if name is None:
                assert names[topic] == 0
            else:
                unknown = clients.UNKNOWN_TOPIC_OR_PARTITION
                assert names == {name: 0 if name == topic else unknown}
            versions = response_body(API_VERSIONS, 0, ROUNDS + number, wire.frame())
            assert struct.unpack_from(">h", versions) == (0,)
