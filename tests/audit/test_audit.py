"""gateway.audit.audit: every event is written once to every sink, or is a counted drop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audit.audit import NO_AUDIT, STOP_SECONDS, Audit
from gateway.audit.catalog_changes import MAX_LISTED
from gateway.audit.event import KIND_OF, AuditEvent, cloud_event
from gateway.catalog.entities import Namespace
from gateway.sinks.record_writer import RecordSink
from tests.audit import audit_samples as samples


class MemorySink(RecordSink[AuditEvent]):
    """Events in memory, ``room`` of them; more are dropped."""

    def __init__(self, name: str = "file", room: int = 1_000_000) -> None:
        super().__init__(name, "events", room)
        self.name = name
        self.room = room
        self.events: list[AuditEvent] = []
        self.calls: list[object] = []
        self.dropped = 0
        self._taken = 0

    async def start(self) -> None:
        self.calls.append("start")

    def put(self, record: AuditEvent) -> None:
        if len(self.events) >= self.room:
            self.dropped += 1
        else:
            self.events.append(record)

    async def stop(self, seconds: float) -> None:
        self.calls.append(seconds)

    @property
    def queued(self) -> int:
        return len(self.events)

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        written, self._taken = len(self.events) - self._taken, len(self.events)
        dropped, self.dropped = self.dropped, 0
        return written, {"queue full": dropped} if dropped else {}

    @property
    def data(self) -> list[dict[str, Any]]:
        return [cloud_event(samples.SOURCE, event)["data"] for event in self.events]


def rows(hub: Audit) -> dict[tuple[Any, ...], Any]:
    """The counts, without zeros."""
    return {(family, *labels): count for family, labels, count in hub.take_rows() if count}


async def test_everything_that_can_happen() -> None:
    sink = MemorySink()
    hub = Audit([sink], clock=lambda: samples.TIME)
    hub.denied(samples.acl_denial())
    hub.authentication_failed("clients", "10.0.0.1:5", "PLAIN", "alice", "wrong password")
    hub.authentication_failed("clients", "10.0.0.1:5", "", None, "no", principal="User:bob")
    hub.connection_revoked(samples.alice(), "its token has expired")
    hub.catalog_changed(
        [
            samples.committed(None, Namespace("org")),
            samples.committed(Namespace("org"), Namespace("org", {"retention.ms": "5"})),
        ]
    )
    kinds = [KIND_OF[type(event.what)] for event in sink.events]
    assert kinds == ["denied", "failed", "failed", "revoked", "changed", "changed"]
    assert {event.time for event in sink.events} == {samples.TIME}
    _, failed, again, revoked, made, altered = sink.data
    assert (failed["claimed_user"], failed["principal"]) == ("alice", "User:ANONYMOUS")
    assert (again["claimed_user"], again["principal"]) == (None, "User:bob")
    assert revoked["reason"] == "its token has expired"
    assert (made["action"], altered["action"]) == ("created", "altered")
    assert rows(hub) == {
        ("audit_events", "kafka.gateway.access.denied"): 1,
        ("audit_events", "kafka.gateway.authentication.failed"): 2,
        ("audit_events", "kafka.gateway.connection.revoked"): 1,
        ("audit_events", "kafka.gateway.catalog.changed"): 2,
        ("audit_written", "file"): 6,
    }
    assert rows(hub) == {}


async def test_ids_are_unique_also_after_a_restart() -> None:
    sink = MemorySink()
    for _ in range(2):
        hub = Audit([sink])
        for _ in range(100):
            hub.denied(samples.acl_denial())
    assert len({event.id for event in sink.events}) == 200


async def test_both_places_get_the_same_event() -> None:
    file, topic = MemorySink("file"), MemorySink("topic")
    hub = Audit([file, topic])
    hub.denied(samples.acl_denial())
    assert file.events == topic.events
    assert hub.queued == 2


async def test_a_full_place_costs_the_other_nothing() -> None:
    file, topic = MemorySink("file"), MemorySink("topic", room=3)
    hub = Audit([file, topic])
    for _ in range(10):
        hub.denied(samples.acl_denial())
    assert rows(hub) == {
        ("audit_events", "kafka.gateway.access.denied"): 10,
        ("audit_written", "file"): 10,
        ("audit_written", "topic"): 3,
        ("audit_dropped", "topic", "queue full"): 7,
    }


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 30))
def test_nothing_is_sampled(bursts: list[int], room: int) -> None:
    sink = MemorySink(room=room)
    hub = Audit([sink])
    written = dropped = 0
    for burst in bursts:
        for _ in range(burst):
            hub.denied(samples.acl_denial())
        counts = rows(hub)
        written += counts.get(("audit_written", "file"), 0)
        dropped += counts.get(("audit_dropped", "file", "queue full"), 0)
    assert written + dropped == sum(bursts)
    assert written == min(room, sum(bursts))


async def test_a_large_change_is_several_events() -> None:
    sink = MemorySink()
    everyone = samples.acls(*(f"User:{n}" for n in range(MAX_LISTED + 1)))
    Audit([sink]).catalog_changed([samples.committed(None, everyone)])
    assert [len(data["after"]["entries"]) for data in sink.data] == [MAX_LISTED, 1]


async def test_all_places_are_started_in_turn_and_stopped_together() -> None:
    class Slow(MemorySink):
        async def stop(self, seconds: float) -> None:
            await together.wait()
            await super().stop(seconds)

    sinks = [Slow(), Slow()]
    together = asyncio.Barrier(len(sinks))
    hub = Audit(sinks)
    await hub.start()
    async with asyncio.timeout(120):
        await hub.stop()
    assert [sink.calls for sink in sinks] == [["start", STOP_SECONDS]] * 2


async def test_without_a_place_nothing_is_kept() -> None:
    await NO_AUDIT.start()
    NO_AUDIT.denied(samples.acl_denial())
    NO_AUDIT.authentication_failed("clients", "10.0.0.1:5", "PLAIN", "alice", "no")
    NO_AUDIT.connection_revoked(samples.alice(), "its token has expired")
    NO_AUDIT.catalog_changed([samples.committed(None, Namespace("org"))])
    await NO_AUDIT.stop()
    assert (NO_AUDIT.queued, NO_AUDIT.take_rows()) == (0, ())
