"""bench.crowd: many connections to a server of this process."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from bench.crowd import Crowd
from bench.generators import GeneratorError
from bench.kafka_requests import api_versions_request, metadata_request
from tests.bench.scripted_server import Answer, correlation_id, echo, scripted_server

VERSIONS, METADATA = api_versions_request(3), metadata_request(12, "orders")
LOAD = metadata_request(12, "a topic of the load")


@pytest.fixture
def greeting(tmp_path: Path) -> Path:
    path = tmp_path / "greeting"
    path.write_bytes(VERSIONS + METADATA)
    return path


@pytest.fixture
def load(tmp_path: Path) -> Path:
    path = tmp_path / "load"
    path.write_bytes(LOAD)
    return path


def meeting(barrier: threading.Barrier) -> Answer:
    """Responds as soon as so many requests wait for their responses."""

    def answer(request: bytes) -> bytes:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            return b""
        return echo(b"")(request)

    return answer


def test_every_connection_is_greeted_once(greeting: Path, load: Path) -> None:
    with scripted_server(echo(b"")) as served, Crowd(served.port, greeting, load, 20) as crowd:
        done = crowd.open(3)
        assert (served.connections, done.retries) == (20, 0)
        assert Counter(served.requests) == {VERSIONS[4:]: 20, METADATA[4:]: 20}
        assert 0 < done.longest <= done.seconds


def test_all_at_once_are_all_at_once(greeting: Path, load: Path) -> None:
    """No connection is served before all have sent their requests."""
    with (
        scripted_server(meeting(threading.Barrier(12))) as served,
        Crowd(served.port, greeting, load, 12) as crowd,
    ):
        crowd.open()
        assert len(served.requests) == 24


def test_no_more_are_under_way_than_is_said(greeting: Path, load: Path) -> None:
    barrier = threading.Barrier(4)
    with (
        scripted_server(meeting(barrier)) as served,
        Crowd(served.port, greeting, load, 12, deadline=1) as crowd,
        pytest.raises(GeneratorError, match="0 done within 1 s"),
    ):
        crowd.open(3)
    barrier.abort()


def test_the_load_goes_around_and_counts_on_each_connection(greeting: Path, load: Path) -> None:
    with scripted_server(echo(b"")) as served, Crowd(served.port, greeting, load, 3) as crowd:
        crowd.open()
        crowd.send(7, 1)
    ids = Counter(correlation_id(each) for each in served.requests if each[8:] == LOAD[12:])
    assert ids == {bytes(4): 3, (1).to_bytes(4, "big"): 3, (2).to_bytes(4, "big"): 1}


def test_connections_are_opened_again_after_they_were_closed(greeting: Path, load: Path) -> None:
    with scripted_server(echo(b"")) as served, Crowd(served.port, greeting, load, 5) as crowd:
        for _ in range(2):
            crowd.open()
            crowd.send(10, 5)
            crowd.close()
    assert (served.connections, len(served.requests)) == (10, 40)


def test_a_connection_that_ends_before_it_is_served_is_opened_again(
    greeting: Path, load: Path
) -> None:
    numbers = count(1)

    def answer(request: bytes) -> bytes:
        return b"" if next(numbers) in (1, 4) else echo(b"")(request)

    with scripted_server(answer) as served, Crowd(served.port, greeting, load, 2) as crowd:
        assert crowd.open(1).retries == 2
        assert served.connections == 4


def test_a_connection_that_ends_later_ends_the_load(greeting: Path, load: Path) -> None:
    def answer(request: bytes) -> bytes:
        return b"" if request[8:] == LOAD[12:] else echo(b"")(request)

    with (
        scripted_server(answer) as served,
        Crowd(served.port, greeting, load, 2) as crowd,
        pytest.raises(GeneratorError, match="a connection ended after 0 responses"),
    ):
        crowd.open()
        crowd.send(1, 1)


def test_an_error_code_ends_the_load(greeting: Path, load: Path) -> None:
    with (
        scripted_server(echo(b"\0\x06")) as served,
        Crowd(served.port, greeting, load, 2, zero_at=[8]) as crowd,
        pytest.raises(GeneratorError, match="error code 6 at byte 8"),
    ):
        crowd.open()
        crowd.send(1, 1)


def test_a_program_that_has_ended_says_why_once_more(greeting: Path, load: Path) -> None:
    load.write_bytes(LOAD * 2)
    with (
        Crowd(1, greeting, load, 2) as crowd,
        pytest.raises(GeneratorError, match=r"crowd on port 1: .*exactly one request"),
    ):
        crowd.open()
