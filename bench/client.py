"""A small blocking client: what the bench asks a target before it loads it."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Mapping
from typing import Any, Final, Self

from bench.entities import request_frame
from protocol.headers import (
    SIZE_PREFIX,
    read_request_header,
    response_body_pos,
    response_header_version,
)
from protocol.messages import parse
from protocol.schema import error_name, response_name

HOST: Final = "127.0.0.1"
_SECONDS: Final = 60.0
_TOPIC_EXISTS: Final = 36

# What every target of the bench serves.
_API_VERSIONS: Final = 3
_METADATA: Final = 12
_CREATE_TOPICS: Final = 7


class AnswerError(Exception):
    """A target answered with an error, or not at all."""


def port_of(address: str) -> int:
    """The port of ``host:port``, or of the first of several."""
    return int(address.partition(",")[0].rpartition(":")[2])


class Client:
    """One connection to a port of this machine; every request waits for its response."""

    def __init__(self, port: int) -> None:
        try:
            self._socket = socket.create_connection((HOST, port), timeout=_SECONDS)
        except OSError as error:
            raise AnswerError(f"port {port}: {error}") from error
        self._port = port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def exchange(self, frame: bytes) -> bytes:
        """Send a request frame; returns the response frame, its size included."""
        try:
            self._socket.sendall(frame)
            size = self._read(SIZE_PREFIX.size)
            return size + self._read(SIZE_PREFIX.unpack(size)[0])
        except OSError as error:
            raise AnswerError(f"port {self._port}: {error}") from error

    def ask(self, message: str, version: int, values: Mapping[str, object]) -> Any:
        """Send a request; returns the response as an entity."""
        request = request_frame(message, version, values)
        return parse_response(request, self.exchange(request))

    def api_versions(self) -> dict[int, int]:
        """The newest version that the target serves, by API key."""
        asked = {"client_software_name": "bench", "client_software_version": "1"}
        answer = self.ask("ApiVersionsRequest", _API_VERSIONS, asked)
        return {entry.api_key: entry.max_version for entry in answer.api_keys}

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Create a topic of one replica; one that is there already is left as it is."""
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        answer = self.ask("CreateTopicsRequest", _CREATE_TOPICS, {"topics": [topic]})
        code = answer.topics[0].error_code
        if code not in (0, _TOPIC_EXISTS):
            raise AnswerError(
                f"creating {name}: {error_name(code)} {answer.topics[0].error_message or ''}"
            )

    def topic_leader(self, name: str) -> tuple[uuid.UUID | None, int] | None:
        """The topic's id, and the port of its partitions' leader; None while it has none."""
        values = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
        answer = self.ask("MetadataRequest", _METADATA, values)
        ports = {broker.node_id: broker.port for broker in answer.brokers}
        topic = answer.topics[0]
        leaders = {partition.leader_id for partition in topic.partitions}
        if topic.error_code or len(leaders) != 1 or not leaders <= ports.keys():
            return None
        return topic.topic_id, ports[leaders.pop()]

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._socket.recv(size)
            if not part:
                raise AnswerError(f"port {self._port} closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def parse_response(request: bytes, response: bytes) -> Any:
    """The entity in a response frame to the request frame."""
    api_key, version, _, _, _ = read_request_header(request, SIZE_PREFIX.size, len(request))
    header = response_header_version(api_key, version)
    body = response_body_pos(response, SIZE_PREFIX.size, len(response), header)
    return parse(response_name(api_key), version, response[body:])
