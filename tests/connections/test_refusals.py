"""gateway.connections.refusals: log lines for operators about brokers that let no client in."""

from __future__ import annotations

import logging

import pytest

from gateway.cluster.cluster import Cluster
from gateway.connections.broker_room import Limits, Place
from gateway.connections.broker_rooms import ASK_SECONDS, BrokerRooms
from gateway.connections.closing import GAVE_WAY
from gateway.connections.refusals import LOCKED_SECONDS, OVER_SECONDS, UNTRIED_SECONDS
from gateway.connections.tenants import NoRoom, Wanted
from gateway.counts import Counts

LOGGER = "gateway.connections.refusals"


class Client:
    tenant = ("User:alice", "")
    idle = False
    awaits_answer = True

    def give_way(self, reason: str) -> None:
        raise AssertionError(reason)

    def fail(self, error: Exception) -> None:
        raise error


class Worker:
    """Opens connections to two brokers, and checks their outcomes once a second."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.now = 0.0
        self.cluster = Cluster("main", [("127.0.0.1", 1)])
        self.cluster.brokers = {1: ("127.0.0.1", 1), 2: ("127.0.0.1", 2)}
        self.cluster.reachable = True
        self.rooms = BrokerRooms(self.cluster, limits or Limits(), lambda: self.now)
        self.counts = Counts()

    def opens(self, node_id: int) -> Place:
        return self.rooms.of(node_id).enter(Client())

    def accepted(self, node_id: int) -> None:
        self.opens(node_id).heard()

    def refused(self, node_id: int) -> None:
        place = self.opens(node_id)
        place.refused()
        place.leave()

    def look(self, seconds: float = 1.0) -> dict[str, int]:
        self.now += seconds
        self.rooms.sweep(self.counts)
        return dict(self.rooms.gauges())


OPEN = {"refusing_brokers": 0, "locked_out": 0}


def test_one_line_for_many_clients_and_one_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    worker = Worker()
    for _ in range(40):
        worker.accepted(1)
    worker.look()
    for _ in range(45):
        for _ in range(20):
            worker.refused(1)
        worker.look()
    (line,) = caplog.messages
    assert line == (
        "broker 1 of cluster 'main' closes new connections before it answers, with 40 open from"
        " this worker, which go on: see max.connections.per.ip of the broker, and"
        " connection_creation_rate of this address (KIP-612)"
    )
    for _ in range(20):
        worker.refused(1)
        worker.look()
    assert caplog.messages[1:] == [
        "new connections to broker 1 of cluster 'main' are still refused: in 60 s it let 0 in and"
        " closed 916, 0 were rejected here, and 0 idle ones gave way"
    ]
    worker.accepted(1)
    worker.look(OVER_SECONDS - 1)
    assert len(caplog.messages) == 2
    worker.look()
    assert caplog.messages[2:] == [
        "new connections to broker 1 of cluster 'main' are not refused any more: in 124 s it let 1"
        " in and closed 920, 0 were rejected here, and 0 idle ones gave way"
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]
    assert list(worker.counts.take()) == [("broker_refusals", ("main", "closed"), 920)]
    worker.refused(1)
    worker.look()
    assert len(caplog.messages) == 4, "it has begun again"


def test_locked_out_of_some_brokers_or_of_all() -> None:
    worker = Worker()
    worker.accepted(1)
    assert worker.look() == OPEN
    worker.refused(1)
    assert worker.look() == OPEN, "the next one may get through"
    worker.refused(1)
    assert worker.look(LOCKED_SECONDS) == {"refusing_brokers": 1, "locked_out": 0}
    worker.refused(2)
    worker.look()
    worker.refused(2)
    assert worker.look(LOCKED_SECONDS) == {"refusing_brokers": 2, "locked_out": 1}
    worker.cluster.reachable = False
    assert worker.rooms.gauges()["locked_out"] == 0, "older connections do not work, either"
    worker.cluster.reachable = True
    worker.accepted(2)
    assert worker.look() == {"refusing_brokers": 1, "locked_out": 0}
    assert worker.look(UNTRIED_SECONDS) == OPEN, "nobody knows"


def test_refused_ones_beside_others_that_get_through() -> None:
    """A broker with a rate is slow, but locks no client out."""
    worker = Worker()
    for _ in range(20):
        worker.accepted(1)
        worker.refused(1)
        assert worker.look() == OPEN


def test_a_broker_that_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    """It is at ``max.connections``, so new connections wait in its backlog."""
    caplog.set_level(logging.INFO, LOGGER)
    worker = Worker()
    worker.accepted(1)
    worker.look()
    waiting = worker.opens(1)
    for _ in range(4):
        assert worker.look() == OPEN
    assert caplog.messages == []
    assert worker.look() == {"refusing_brokers": 1, "locked_out": 0}
    (line,) = caplog.messages
    assert line.startswith(
        "broker 1 of cluster 'main' does not answer new connections, with 1 open"
    )
    assert line.endswith(
        "see max.connections and max.connection.creation.rate of the broker and its listener"
    )
    waiting.heard()
    assert worker.look() == OPEN


def test_clients_that_give_up_and_try_again_wait_for_it_all_the_same() -> None:
    worker = Worker()
    worker.accepted(1)
    worker.look()
    for _ in range(4):
        waiting = worker.opens(1)
        assert worker.look() == OPEN
        waiting.leave()
    assert worker.look() == OPEN
    worker.opens(1)
    assert worker.look() == {"refusing_brokers": 1, "locked_out": 0}


def test_clients_that_came_long_ago_do_not_count() -> None:
    worker = Worker()
    worker.accepted(1)
    for _ in range(20):
        waiting = worker.opens(1)
        assert worker.look() == OPEN
        waiting.leave()
        worker.look()
        worker.look()


def test_room_is_made_at_a_broker_that_does_not_answer() -> None:
    class Many(Client):
        tenant = ("User:many", "")
        idle = True

        def give_way(self, reason: str) -> None:
            closed.append(reason)

    closed: list[str] = []
    worker = Worker()
    for _ in range(10):
        worker.rooms.of(1).enter(Many()).heard()
    worker.look()
    few = worker.opens(1)
    for _ in range(4):
        worker.look()
    assert not closed
    worker.look()
    assert closed == [GAVE_WAY]
    few.heard()
    worker.look()
    assert closed == [GAVE_WAY]


def test_a_broker_that_holds_a_response_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request of a connection may be a JoinGroup that waits for other members."""
    worker = Worker()
    worker.accepted(1)
    worker.opens(1)
    monkeypatch.setattr(Client, "awaits_answer", False)
    for _ in range(20):
        assert worker.look() == OPEN


def test_a_broker_that_answers_late_but_always_one(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    waiting = [worker.opens(1) for _ in range(20)]
    for each in waiting:
        assert worker.look() == OPEN
        each.heard()
    assert caplog.messages == []


def test_shares_of_a_setting(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker(Limits(most=2))
    worker.accepted(1)
    with pytest.raises(NoRoom):
        worker.opens(1)
    assert worker.look() == OPEN
    (line,) = caplog.messages
    assert line.startswith("broker 1 of cluster 'main' gets no more connections of principals that")
    assert list(worker.counts.take()) == [("broker_refusals", ("main", "share"), 1)]


def test_other_workers_are_asked_not_too_often() -> None:
    worker, asked = Worker(), list[Wanted]()
    worker.rooms = BrokerRooms(worker.cluster, Limits(), lambda: worker.now, asked.append)
    for _ in range(3):
        worker.refused(1)
    worker.refused(2)
    assert asked == [Wanted("main", node_id, Client.tenant, 0) for node_id in (1, 2)]
    worker.now += ASK_SECONDS
    worker.refused(1)
    assert len(asked) == 3
    worker.rooms.make_room_for(asked[0])
    worker.rooms.make_room_for(Wanted("main", 7, Client.tenant, 0))


def test_a_broker_that_has_left_is_forgotten() -> None:
    worker = Worker()
    worker.refused(1)
    worker.look()
    worker.refused(1)
    worker.cluster.brokers = {2: ("127.0.0.1", 2)}
    assert worker.look(LOCKED_SECONDS) == OPEN
