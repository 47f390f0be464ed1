"""A target made ready for the loads: its topics exist, its requests lie in files and work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bench.answers import error_code_offsets
from bench.client import Client
from bench.kafka_requests import (
    Topic,
    api_versions_request,
    fetch_request,
    metadata_request,
    produce_request,
)
from bench.record_batches import record_batch
from bench.targets.target import Target
from devkit.waiting import wait_until

PRODUCE: Final = 0
FETCH: Final = 1

MIB: Final = 1 << 20
READ_PARTITIONS: Final = 8
PARTITION_MAX_BYTES: Final = MIB
FETCH_MAX_BYTES: Final = 50 * MIB

# As a producer fills a batch of 1 MB, which is what brokers take, with records of 1 KB.
_BULK_RECORDS: Final = 960
_BULK_VALUE: Final = 1024
_SMALL_VALUE: Final = 100

_TOPIC_SECONDS: Final = 120.0
# How much of a response the generators keep (RESPONSE_KEPT in wire.h).
_KEPT: Final = 512

# The records' timestamps are always the same, so their age says nothing.
_CONFIGS: Final = {"retention.ms": "-1"}
# What is produced in bulk goes away again: it would fill the disk.
_BULK_CONFIGS: Final = {
    **_CONFIGS,
    "retention.bytes": str(256 * MIB),
    "segment.bytes": str(64 * MIB),
    "file.delete.delay.ms": "1000",
}

BROKER_SETTINGS: Final = {"log.retention.check.interval.ms": "5000"}
"""What the bench asks of a broker, so that old segments are looked for often enough."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that works: its file, and where in its response error codes stand."""

    path: Path
    zero_at: tuple[int, ...]
    request_size: int
    response_size: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A target, the port of its topics' leader, and its requests by name."""

    target: Target
    leader_port: int
    requests: Mapping[str, Prepared]
    greeting: Path
    """What an idle connection has asked once: ApiVersions and Metadata."""
    versions: tuple[int, int]
    """Of Produce and Fetch."""


def prepare(target: Target, directory: Path) -> Subject:
    """Create the topics of a target through itself, fill them and try every request once.

    Raises AnswerError, TargetError, or DeadlineError if a topic gets no leader.
    """
    with Client(target.port) as client:
        served = client.api_versions()
        produce = min(target.versions.produce, served[PRODUCE])
        fetch = min(target.versions.fetch, served[FETCH])
        sink, port = _topic(client, target, "bulk", 1, _BULK_CONFIGS)
        full, _ = _topic(client, target, "read", READ_PARTITIONS, _CONFIGS)
        small, _ = _topic(client, target, "small", 1, _CONFIGS)
        read_small, _ = _topic(client, target, "read-small", 1, _CONFIGS)
    tiny = record_batch(1, _SMALL_VALUE)
    with Client(port) as leader:
        _fill(leader, produce, full, read_small, tiny)
        frames = {
            "bulk produce": produce_request(produce, sink, {0: _bulk_batch()}),
            "bulk fetch": fetch_request(
                fetch,
                full,
                READ_PARTITIONS,
                partition_max_bytes=PARTITION_MAX_BYTES,
                max_bytes=FETCH_MAX_BYTES,
            ),
            "small produce": produce_request(produce, small, {0: tiny}),
            # One byte: the broker then gives the first batch, whole.
            "small fetch": fetch_request(
                fetch, read_small, 1, partition_max_bytes=1, max_bytes=FETCH_MAX_BYTES
            ),
        }
        requests = {
            name: _prepared(leader, directory / f"{target.name} {name}", frame)
            for name, frame in frames.items()
        }
    greeting = _greeting(target, directory, small)
    return Subject(target, port, requests, greeting, (produce, fetch))


def prepare_small(target: Target, directory: Path) -> Subject:
    """Create the topic of small records alone, with the request that produces one: no bulk leaves
    memory free that would hide what connections take. Raises as :func:`prepare`."""
    with Client(target.port) as client:
        served = client.api_versions()
        produce = min(target.versions.produce, served[PRODUCE])
        small, port = _topic(client, target, "small", 1, _CONFIGS)
    frame = produce_request(produce, small, {0: record_batch(1, _SMALL_VALUE)})
    with Client(port) as leader:
        prepared = _prepared(leader, directory / f"{target.name} small produce", frame)
    fetch = min(target.versions.fetch, served[FETCH])
    greeting = _greeting(target, directory, small)
    return Subject(target, port, {"small produce": prepared}, greeting, (produce, fetch))


def _greeting(target: Target, directory: Path, topic: Topic) -> Path:
    """The file of what a client asks first."""
    path = directory / f"{target.name} greeting"
    path.write_bytes(api_versions_request(3) + metadata_request(12, topic.name))
    return path


@cache
def _bulk_batch() -> bytes:
    return record_batch(_BULK_RECORDS, _BULK_VALUE)


def _topic(
    client: Client, target: Target, stem: str, partitions: int, configs: Mapping[str, str]
) -> tuple[Topic, int]:
    """A topic of the target, and the port of its leader."""
    name = target.topic(stem)
    client.create_topic(name, partitions, configs)
    leader = wait_until(lambda: client.topic_leader(name), f"a leader of {name}", _TOPIC_SECONDS)
    assert leader is not None
    topic_id, advertised = leader
    return Topic(name, topic_id), target.leader_port(advertised)


def _fill(leader: Client, version: int, full: Topic, small: Topic, tiny: bytes) -> None:
    """Two large batches to each partition of ``full``, a tiny one to ``small``."""
    frames = [
        produce_request(version, full, {index: _bulk_batch()})
        for index in range(READ_PARTITIONS)
        for _ in range(2)
    ]
    for frame in [*frames, produce_request(version, small, {0: tiny})]:
        error_code_offsets(frame, leader.exchange(frame))


def _prepared(leader: Client, path: Path, frame: bytes) -> Prepared:
    response = leader.exchange(frame)
    offsets = [at for at in error_code_offsets(frame, response) if at + 2 <= _KEPT]
    path.write_bytes(frame)
    return Prepared(path, tuple(offsets), len(frame), len(response))
