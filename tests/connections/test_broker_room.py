"""gateway.connections.broker_room: which clients have connections to a broker, and which give
theirs up."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connections.broker_room import (
    AT_ONCE_SECONDS,
    IDLE_SECONDS,
    LEARNED_SECONDS,
    BrokerRoom,
    Limits,
    Place,
)
from gateway.connections.closing import GAVE_WAY
from gateway.connections.tenants import NoRoom, Tenant, tenant_of
from gateway.identity import ANONYMOUS


class Client:
    """A client's connection."""

    def __init__(self, broker: Broker, tenant: Tenant) -> None:
        self.broker = broker
        self.tenant = tenant
        self.idle = self.awaits_answer = True
        self.reasons: list[str] = []
        self.place: Place | None = None

    def give_way(self, reason: str) -> None:
        self.reasons.append(reason)
        self.broker.close(self)

    def fail(self, error: Exception) -> None:
        raise error


class Broker:
    """A broker that takes ``most`` connections, and closes others at once; the clock stands
    still."""

    def __init__(self, most: int = 2**31, limits: Limits | None = None) -> None:
        self.now = 1_000.0
        self.most = most
        self.delay = 0.0
        self.room = BrokerRoom(limits or Limits(), lambda: self.now)
        self.open: dict[Client, None] = {}
        self.backlog: list[Client] = []

    def comes(self, name: str) -> Client | None:
        """Let a client connect, again if that is worth it; returns None if it is not let in."""
        client = Client(self, (name, ""))
        try:
            place = self.room.enter(client)
        except NoRoom:
            return None
        client.place = place
        for _ in range(2):
            place.begins()
            if len(self.open) < self.most:
                self.open[client] = None
                place.heard()
                return client
            self.now += self.delay
            if not place.refused():
                break
        place.leave()
        return None

    def come(self, name: str, count: int) -> list[Client]:
        came = [self.comes(name) for _ in range(count)]
        self.now += IDLE_SECONDS
        return [one for one in came if one is not None]

    def waits(self, name: str, count: int) -> list[Client]:
        """Let clients connect to a broker that leaves new connections in its backlog."""
        clients = [Client(self, (name, "")) for _ in range(count)]
        for client in clients:
            client.place = self.room.enter(client)
        self.backlog += clients
        return clients

    def accepts(self) -> None:
        """Accept connections of the backlog, in the order in which they came."""
        while self.backlog and len(self.open) < self.most:
            client = self.backlog.pop(0)
            self.open[client] = None
            assert client.place is not None
            client.place.heard()

    def close(self, client: Client) -> None:
        if client in self.backlog:
            self.backlog.remove(client)
        else:
            del self.open[client]
        assert client.place is not None
        client.place.leave()

    @property
    def counts(self) -> Counter[str]:
        return Counter(client.tenant[0] for client in self.open)


def test_one_client_does_not_lock_the_others_out() -> None:
    """A client has 60 idle connections, at ``max.connections.per.ip=40``."""
    broker = Broker(most=40)
    many = broker.come("many", 60)
    assert len(many) == 40
    assert broker.comes("few") is not None
    assert broker.counts == {"many": 39, "few": 1}
    assert [each for each in many if each.reasons] == many[:1], "idle for longest"
    assert many[0].reasons == [GAVE_WAY]
    assert (broker.room.refused, broker.room.gave_way) == (20, 1)


def test_one_client_does_not_fill_a_broker_that_lets_others_wait() -> None:
    """A broker at ``max.connections`` leaves new connections in its backlog."""
    broker = Broker(most=40)
    many = broker.come("many", 40)
    ahead = broker.waits("many", 20)
    (few,) = broker.waits("few", 1)
    broker.room.note_waiting()
    broker.accepts()
    assert few in broker.open
    assert broker.counts == {"many": 39, "few": 1}
    assert [each for each in many if each.reasons] == many[:1], "idle for longest"
    assert all(each.reasons == [GAVE_WAY] for each in ahead), "they had their share"
    assert broker.room.limit == 40
    assert len(broker.come("other", 1)) == 1, "room is made before it waits"
    assert (broker.room.gave_way, broker.room.rejected) == (2, 20)


def test_many_that_wait_get_no_more_than_others_have() -> None:
    broker = Broker(most=40)
    broker.come("many", 40)
    broker.waits("few", 100)
    for _ in range(60):
        broker.room.note_waiting()
        broker.accepts()
        broker.now += IDLE_SECONDS
    assert broker.counts == {"many": 20, "few": 20}
    assert len(broker.backlog) == 80
    (third,) = broker.waits("third", 1)
    broker.room.note_waiting()
    broker.accepts()
    assert third in broker.open
    assert not broker.backlog, "the rest had their share, and gave way"


def test_nothing_gives_way_where_a_tenant_waits_alone_or_nothing_is_idle() -> None:
    broker = Broker(most=40)
    many = broker.come("many", 40)
    broker.waits("many", 20)
    broker.room.note_waiting()
    (few,) = broker.waits("few", 1)
    for each in many:
        each.idle = False
    broker.room.note_waiting()
    few.awaits_answer = False  # its first request is one that brokers hold back
    for each in many:
        each.idle = True
    broker.room.note_waiting()
    assert len(broker.open) == 40
    assert len(broker.backlog) == 21
    assert broker.room.limit is None


def test_a_known_limit_makes_room_before_the_broker_refuses() -> None:
    broker = Broker(most=40)
    broker.come("many", 60)
    broker.come("few", 10)
    refused = broker.room.refused
    assert len(broker.come("other", 5)) == 5
    assert broker.room.refused == refused
    assert broker.counts == {"many": 25, "few": 10, "other": 5}


def test_who_has_its_share_does_not_take_the_room_that_was_made() -> None:
    broker = Broker(most=40)
    broker.come("many", 60)
    broker.come("few", 1)
    refused = broker.room.refused
    for client in list(broker.open)[:5]:
        broker.close(client)
    assert broker.come("many", 30) == [], "39 were open, of 40"
    assert broker.room.refused == refused, "the broker is not asked"
    assert broker.room.rejected == 30
    assert len(broker.come("few", 5)) == 5


def test_one_tenant_alone_may_try_what_the_broker_takes() -> None:
    broker = Broker(most=40)
    broker.come("many", 60)
    assert (broker.room.refused, broker.room.rejected) == (20, 0)
    broker.most = 45
    assert len(broker.come("many", 10)) == 5


def test_what_was_learned_is_forgotten() -> None:
    broker = Broker(most=40)
    broker.come("many", 60)
    broker.come("few", 1)
    broker.most = 80
    assert broker.come("many", 1) == []
    broker.now += LEARNED_SECONDS
    assert len(broker.come("many", 40)) == 40


def test_what_the_broker_takes_is_more_than_was_learned() -> None:
    broker = Broker(most=10)
    broker.come("many", 11)
    assert broker.room.limit == 10
    broker.most = 20
    broker.come("many", 1)
    assert broker.room.limit is None


def test_busy_connections_are_left_alone() -> None:
    broker = Broker(most=40)
    for client in broker.come("many", 40):
        client.idle = False
    assert broker.comes("few") is None, "the broker was asked, and refused"
    assert broker.room.refused == 1
    idle = list(broker.open)[7]
    idle.idle = True
    assert broker.comes("few") is not None
    assert idle.reasons == [GAVE_WAY]


def test_what_was_used_lately_is_left_alone() -> None:
    broker = Broker(most=3)
    first, second, third = broker.come("many", 3)
    for client in (first, third):
        assert client.place is not None
        client.place.used()
    assert broker.comes("few") is not None
    assert second.reasons
    assert broker.comes("other") is None, "a client may send on what it has just used"
    broker.now += IDLE_SECONDS
    assert broker.comes("other") is not None
    assert first.reasons
    broker.now += IDLE_SECONDS
    assert broker.comes("fourth") is None, "each has one"
    assert not third.reasons


def test_a_rate_is_no_number() -> None:
    """KIP-612: connections beyond an address's rate are closed after a throttle time."""
    broker = Broker(most=10)
    broker.delay = AT_ONCE_SECONDS
    many = broker.come("many", 10)
    assert broker.comes("few") is None
    assert broker.room.limit is None
    assert broker.room.refused == 1
    assert not any(each.reasons for each in many), "there would be more connections to open"


def test_a_broker_that_stops_has_no_limit() -> None:
    """It may refuse connections before it ends the open connections."""
    broker = Broker(most=10)
    many = broker.come("many", 10)
    assert broker.comes("few") is not None
    assert broker.room.limit == 10
    assert many[-1].place is not None
    many[-1].place.ended()
    assert broker.room.limit is None


def test_a_broker_that_lets_nobody_in_teaches_nothing() -> None:
    broker = Broker(most=0)
    broker.come("many", 5)
    assert broker.room.limit is None
    assert len(broker.room) == 0


def test_equals_do_not_take_each_others_places() -> None:
    broker = Broker(most=4)
    first, second = broker.come("a", 2), broker.come("b", 2)
    assert broker.comes("a") is None
    assert broker.comes("b") is None
    assert not any(each.reasons for each in (*first, *second))


def test_a_setting_holds_without_the_broker() -> None:
    broker = Broker(limits=Limits(most=40))
    assert len(broker.come("many", 60)) == 20, "half of it"
    assert len(broker.come("other", 60)) == 20
    assert len(broker.come("few", 10)) == 10
    assert broker.counts == {"many": 15, "other": 15, "few": 10}
    assert (broker.room.refused, broker.room.rejected) == (0, 80)
    for client in broker.open:
        client.idle = False
    assert broker.comes("late") is None
    assert broker.room.rejected == 81


def test_a_share_of_all() -> None:
    broker = Broker(limits=Limits(most=40, share=1.0))
    assert len(broker.come("many", 60)) == 40
    assert len(broker.come("few", 1)) == 1
    assert broker.counts == {"many": 39, "few": 1}


def test_room_for_the_gateway_itself() -> None:
    broker = Broker()
    (only,) = broker.come("one", 1)
    assert broker.room.make_room()
    assert only.reasons == [GAVE_WAY]
    assert not broker.room.make_room()


def test_other_workers_make_room() -> None:
    """The broker's 40 connections belong to another worker, and that worker's client keeps them."""
    here, there, asked = Broker(most=0), Broker(most=40), list[tuple[Tenant, int]]()
    here.room = BrokerRoom(Limits(), lambda: here.now, lambda *what: asked.append(what))
    many = there.come("many", 40)
    assert here.comes("few") is None
    assert asked == [(("few", ""), 0)]
    assert there.room.make_room_for(*asked[0])
    assert many[0].reasons == [GAVE_WAY]
    assert there.comes("many") is None, "others want in, and it has its share"
    assert there.come("few", 1)
    assert not there.room.make_room_for(("few", ""), 38), "it has as many, here and there"
    assert not there.room.make_room_for(("many", ""), 0)


def test_a_login_is_counted_for_who_it_is_at_last() -> None:
    broker = Broker(limits=Limits(most=4))
    client = Client(broker, tenant_of(ANONYMOUS.principal, "10.0.0.1"))
    place = broker.room.enter(client)
    place.heard()
    place.hand_over(Client(broker, ("User:alice", "")))
    assert (len(broker.room), broker.room.open) == (1, 1)
    broker.room.enter(Client(broker, ("User:alice", "")))
    with pytest.raises(NoRoom, match="User:alice has 2 connections to it, its share of 4"):
        broker.room.enter(Client(broker, ("User:alice", "")))
    place.leave()
    place.leave()
    assert (len(broker.room), broker.room.open) == (1, 0)


def test_tenants() -> None:
    assert tenant_of("User:alice", "10.0.0.1") == tenant_of("User:alice", "10.0.0.2")
    one, other = (tenant_of(ANONYMOUS.principal, f"10.0.0.{n}") for n in (1, 2))
    assert one != other


_STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["come", "close", "busy", "idle", "wait"])),
    max_size=200,
)


@given(_STEPS, st.integers(1, 12), st.none() | st.integers(1, 12))
def test_counts_and_shares_hold_whatever_happens(
    steps: list[tuple[str, str]], most: int, setting: int | None
) -> None:
    broker = Broker(most, Limits(setting))
    for name, step in steps:
        mine = [client for client in broker.open if client.tenant[0] == name]
        if step == "come":
            before = broker.counts
            came = broker.comes(name)
            if came is not None and setting is not None:
                assert broker.counts[name] <= max(1, setting // 2)
            if came is None and setting is None and len(broker.open) < most:
                assert before[name] >= max(1, most // 2), "only shares are kept from the broker"
        elif step == "close" and mine:
            broker.close(mine[0])
        elif step == "wait":
            broker.now += IDLE_SECONDS
        elif mine:
            mine[-1].idle = step == "idle"
        assert len(broker.room) == broker.room.open == len(broker.open) <= most
        assert broker.room.waits_since is None
