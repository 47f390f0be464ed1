from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from gateway.cluster import listing as cluster_listing
from gateway.cluster.listing import Listing, ListingReader, all_topics_request, read_listing
from protocol import messages
from protocol.errors import ProtocolError
from tests.cluster.scripted_broker import ClusterState, metadata_response

STATE = ClusterState(
    brokers={1: ("one.example", 9092), 2: ("two.example", 9093)},
    topics={"orders": UUID(int=7), "t\u00f6pic": UUID(int=8)},
)


@pytest.mark.parametrize("version", range(14))
def test_asks_for_all_topics_and_creates_none(version: int) -> None:
    request = all_topics_request(version)
    assert request.topics == (() if version == 0 else None)
    if version >= 4:
        assert request.allow_auto_topic_creation is False
    assert messages.write(request)


@pytest.mark.parametrize("version", range(14))
def test_reads_brokers_and_topics(version: int) -> None:
    listing = read_listing(version, metadata_response(version, STATE, controller_id=2))
    assert listing.brokers == STATE.brokers
    ids = [UUID(int=n).bytes if version >= 10 else None for n in (7, 8)]
    assert list(listing.topics) == [(b"orders", ids[0]), ("t\u00f6pic".encode(), ids[1])]
    assert listing.cluster_id == ("cluster-a" if version >= 2 else None)
    assert listing.controller_id == (2 if version >= 1 else -1)


@pytest.mark.parametrize("code", [3, 17])
def test_leaves_out_what_is_no_topic(code: int) -> None:
    state = replace(STATE, errors={"orders": code})
    listing = read_listing(13, metadata_response(13, state, controller_id=1))
    assert [name for name, _ in listing.topics] == ["t\u00f6pic".encode()]


@pytest.mark.parametrize("code", [5, 12345])
def test_keeps_a_topic_with_another_error(code: int) -> None:
    """A topic that lacks a leader, or has an error that no current Kafka knows, exists."""
    state = replace(STATE, errors={"orders": code})
    listing = read_listing(13, metadata_response(13, state, controller_id=1))
    assert len(listing.topics) == 2


def test_what_is_no_metadata_is_rejected() -> None:
    body = metadata_response(13, STATE, controller_id=1)
    for broken in (body[:-1], body + b"\x00", b"", b"\xff" * 40):
        with pytest.raises(ProtocolError):
            read_listing(13, broken)


@pytest.fixture
def read_bodies(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies that were really read."""
    bodies: list[bytes] = []

    def counted(version: int, body: bytes) -> Listing:
        bodies.append(body)
        return read_listing(version, body)

    monkeypatch.setattr(cluster_listing, "read_listing", counted)
    return bodies


@pytest.mark.parametrize("version", [2, 8, 9, 13])
def test_the_same_listing_is_read_once_whoever_is_controller(
    version: int, read_bodies: list[bytes]
) -> None:
    reader = ListingReader()
    for controller in (1, 1, 2, 1, -1):
        body = metadata_response(version, STATE, controller)
        assert reader.read(version, body) == read_listing(version, body)
    assert len(read_bodies) == 1


def test_what_has_changed_is_read(read_bodies: list[bytes]) -> None:
    reader = ListingReader()
    changed = [
        replace(STATE, topics={**STATE.topics, "orders": UUID(int=9)}),
        replace(STATE, brokers={1: ("one.example", 9092), 3: ("two.example", 9093)}),
        replace(STATE, topics={"orders": UUID(int=7)}),
        replace(STATE, cluster_id="cluster-b"),
        replace(STATE, racks={2: "b"}),
    ]
    states = [STATE, *(state for change in changed for state in (change, STATE))]
    for state in states:
        listing = reader.read(13, metadata_response(13, state, controller_id=1))
        assert listing == read_listing(13, metadata_response(13, state, controller_id=1))
    assert len(read_bodies) == len(states)


def test_another_version_is_read(read_bodies: list[bytes]) -> None:
    reader = ListingReader()
    for version in (11, 12, 11):  # the same bytes
        reader.read(version, metadata_response(12, STATE, controller_id=1))
    assert len(read_bodies) == 3


@pytest.mark.parametrize(
    ("version", "state"),
    [
        (13, replace(STATE, cluster_id=None)),
        (1, STATE),
        # As long as the cluster id, and its port is the controller's id.
        (13, replace(STATE, brokers={1: ("cluster-a", 5)})),
    ],
)
def test_where_the_controller_cannot_be_told_every_listing_is_read(
    version: int, state: ClusterState, read_bodies: list[bytes]
) -> None:
    reader = ListingReader()
    body = metadata_response(version, state, controller_id=5)
    for _ in range(2):
        assert reader.read(version, body) == read_listing(version, body)
    assert len(read_bodies) == 2


def test_after_what_is_no_metadata_the_known_listing_is_still_known(
    read_bodies: list[bytes],
) -> None:
    reader = ListingReader()
    body = metadata_response(13, STATE, controller_id=1)
    reader.read(13, body)
    with pytest.raises(ProtocolError):
        reader.read(13, body[:-1])
    assert reader.read(13, body) == read_listing(13, body)
    assert len(read_bodies) == 2


@pytest.mark.parametrize("version", [0, 1, 8, 9, 13])
def test_reads_racks(version: int) -> None:
    state = replace(STATE, racks={2: "eu-1b"})
    listing = read_listing(version, metadata_response(version, state, controller_id=1))
    assert listing.racks == {1: None, 2: "eu-1b" if version else None}
