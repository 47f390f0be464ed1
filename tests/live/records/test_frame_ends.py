"""A broker reads a tagged field that it knows by its content, even beyond the field's size.

A real broker shows it, and the gateway lets no such frame pass.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from protocol import messages
from protocol.primitives import write_uvarint
from tests.live.support import clients
from tests.live.support.by_hand import topic_id
from tests.live.support.wire import Wire, entity, request_frame

Names = Callable[[str], str]

FETCH = 1
VERSION = 15
"""The first version in which replicas name themselves in a tagged field (KIP-903)."""

NO_REPLICA_HERE = 99
NO_TAGS = b"\x00"
STATE = b"\x01\x0d" + NO_REPLICA_HERE.to_bytes(4, "big") + bytes(8) + b"\x00"
AS_REPLICA = b"\x01" + STATE
HIDDEN = b"\x02\x00" + write_uvarint(1 + len(STATE)) + b"\x01" + STATE + b"\x64\x00"
"""cluster_id with a size that includes the replica_state behind it, and an unknown field."""


def fetch(topic: UUID, tags: bytes) -> bytes:
    """The body of a full Fetch of a partition, with these tagged fields."""
    partition = {"partition": 0, "partition_max_bytes": 1 << 20, "last_fetched_epoch": -1}
    values = {
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [{"topic_id": topic, "partitions": [{**partition, "current_leader_epoch": -1}]}],
    }
    body = messages.write(entity(messages.message_class("FetchRequest", VERSION), values))
    assert body.endswith(NO_TAGS)
    return body[: -len(NO_TAGS)] + tags


def test_a_size_that_lies(kafka: KafkaCluster, gateway: GatewayProcess, unique: Names) -> None:
    flat = f"team-a..{unique('sized')}"
    clients.create(kafka.bootstrap_servers, flat)
    clients.await_led(kafka.bootstrap_servers, flat)
    topic = topic_id(kafka.bootstrap_servers, flat)

    def answered(tags: bytes) -> int:
        with Wire(kafka.bootstrap_servers) as broker:
            body = broker.exchange(FETCH, VERSION, fetch(topic, tags))
        response = messages.parse("FetchResponse", VERSION, body)
        return int(response.responses[0].partitions[0].error_code)

    assert answered(NO_TAGS) == 0
    assert answered(HIDDEN) == answered(AS_REPLICA) != 0

    with Wire(gateway.bootstrap_servers("colon")) as wire:
        assert wire.exchange(FETCH, VERSION, fetch(topic, NO_TAGS))
        wire.send(request_frame(FETCH, VERSION, fetch(topic, HIDDEN), header_version=2))
        assert wire.wait_for_end() == b""
