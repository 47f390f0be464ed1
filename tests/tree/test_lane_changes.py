"""The decision on a request for another volume is carried out there a little later, and the catalog
of that volume may have changed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.brokers.connection import BrokerConnection
from gateway.connections.admission import Admission
from gateway.connections.doubts import Doubts
from gateway.connections.lane import Lane
from gateway.connections.tasks import Tasks
from gateway.connections.volumes import Volumes
from gateway.exchanges.tree import VolumeUnreachable
from gateway.slices import Turns
from gateway.tree.patience import TICK_SECONDS
from gateway.views.views import Views
from protocol import messages
from protocol.schema import api_key_of
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing
from tests.tree.fake_tree import LISTENER, PATHS, FakeTree
from tests.tree.test_lanes import answers_metadata
from tests.views.trees import mounts, tree_settings

TOPIC_AUTHORIZATION_FAILED = 29
MANY = 2_000


class Changing:
    """A tree whose volume ``ny`` allows the operations that a test gives, now or from now on."""

    def __init__(self, *allowed: str) -> None:
        self.tree = FakeTree()
        for path in PATHS:
            answers_metadata(self.tree.clusters[path])
        self.ny = self.tree.clusters["ny"]
        self.connection = asyncio.Event()
        self.ny.connected = self.connection.wait  # type: ignore[assignment,method-assign]
        self._doubts = Doubts(self.tree.turns, Tasks())
        self.allow(*allowed)

    def allow(self, *allowed: str) -> None:
        """Allow only these operations from now on, and tell each lane."""
        tree = self.tree
        settings = [tree_settings(mounts(*PATHS), "ny", "la")]
        views = tree.views["ny"] = Views(tree.catalogs["ny"], settings, Allowing(allowed))
        volumes = [replace(each, views=tree.views[each.path]) for each in tree.volumes]
        tree.volumes = Volumes(volumes, [tree.listener])
        access = views.access(views.of(LISTENER), "User:alice", "")
        tree.volumes.access = lambda *_, **__: access  # type: ignore[method-assign]
        admits = SimpleNamespace(
            _connections=(),
            _review=Admission._review,
            _lanes=tree.under_way.lanes,
            _doubts=self._doubts,
        )
        Admission.review(cast(Admission, admits))

    def asks(self, api: str, version: int, values: dict[str, Any]) -> asyncio.Task[Any]:
        """Send a request for ``ny`` from a client."""
        key = api_key_of(f"{api}Request")
        body = messages.write(entity(messages.message_class(f"{api}Request", version), values))

        async def asked() -> Any:
            answer = await self.tree.lanes.ask("ny", key, version, body)
            return messages.parse(f"{api}Response", version, answer)

        return asyncio.create_task(asked())

    def alters(self, *names: str) -> asyncio.Task[Any]:
        """Alter a config of topics from a client; the brokers of ``ny`` do it."""
        configs = [{"name": "retention.ms", "config_operation": 0, "value": "1"}]
        resources = [
            {"resource_type": 2, "resource_name": name, "configs": configs} for name in names
        ]
        return self.asks("IncrementalAlterConfigs", 1, {"resources": resources})

    @property
    def lane(self) -> Lane:
        (lane,) = self.tree.under_way.lanes
        return lane


async def until(true: Callable[[], object]) -> None:
    """Let tasks go on until a condition is true."""
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0)


ALTER = "ALTER_CONFIGS TOPIC orders"
DESCRIBE = "DESCRIBE TOPIC orders"


async def test_what_is_not_allowed_any_more_when_there_is_a_connection_is_not_sent() -> None:
    """It waited for a connection, so it is decided again and gets the new result."""
    changing = Changing(ALTER)
    answered = changing.alters(":ny:orders")
    await until(lambda: changing.tree.under_way.lanes and changing.lane.session.under_way)
    changing.allow()
    changing.connection.set()
    (told,) = (await answered).responses
    assert told.error_code == TOPIC_AUTHORIZATION_FAILED
    assert not changing.ny.sent
    assert not changing.tree.under_way.lanes


async def test_a_long_request_is_checked_too_before_it_is_sent() -> None:
    changing = Changing(ALTER)
    answered = changing.alters(":ny:orders", *(f":ny:no-{n}" for n in range(MANY)))
    await until(lambda: changing.tree.under_way.lanes and changing.lane.session.under_way)
    changing.allow()
    changing.connection.set()
    assert {one.error_code for one in (await answered).responses} == {TOPIC_AUTHORIZATION_FAILED}
    assert not changing.ny.sent


async def test_what_is_not_allowed_any_more_is_reset_if_it_changes_something() -> None:
    """The broker may not have begun with it. The cluster is not to blame."""
    changing = Changing(ALTER)
    changing.connection.set()
    changing.ny.waits = True
    answered = changing.alters(":ny:orders")
    await until(lambda: changing.tree.under_way.lanes and changing.lane.sent)
    changing.allow(ALTER)
    assert not changing.ny.resets
    changing.allow()
    with pytest.raises(VolumeUnreachable):
        await answered
    assert (changing.ny.resets, changing.ny.suspicions) == (1, 0)


async def test_the_connection_of_a_request_that_is_answered_is_not_reset() -> None:
    """Another client's request may be on it, while the gateway reads a long response."""
    changing = Changing(ALTER)
    changing.connection.set()
    results = [{"resource_type": 2, "resource_name": "orders"}] * MANY * 5

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return {"responses": results}

    changing.ny.answer = answer  # type: ignore[method-assign]
    answered = changing.alters(":ny:orders", *(f":ny:no-{n}" for n in range(MANY)))
    await until(lambda: changing.tree.under_way.lanes and changing.lane.session.restoring)
    changing.allow()
    await answered
    assert changing.ny.sent == 1
    assert not changing.ny.resets


async def test_the_check_before_a_request_is_sent_is_no_waiting_for_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.tree.lanes.seconds_for", lambda *_, **__: TICK_SECONDS)
    checks = Lane.check

    async def slowly(lane: Lane, connection: BrokerConnection, turns: Turns) -> None:
        await asyncio.sleep(4 * TICK_SECONDS)  # as for many names, in turns
        await checks(lane, connection, turns)

    monkeypatch.setattr(Lane, "check", slowly)
    changing = Changing(DESCRIBE)
    changing.connection.set()
    wanted = {"topics": [{"topic_id": None, "name": ":ny:orders"}]}
    (topic,) = (await changing.asks("Metadata", 12, wanted)).topics
    assert topic.error_code == 0
    assert not changing.ny.suspicions


async def test_an_answer_that_only_tells_is_told_by_the_rights_of_its_end() -> None:
    changing = Changing(DESCRIBE)
    changing.connection.set()
    answers, told = changing.ny.answer, asyncio.Event()

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        await told.wait()
        return await answers(api, version, request)

    changing.ny.answer = answer  # type: ignore[method-assign]
    wanted = {"topics": [{"topic_id": None, "name": ":ny:orders"}]}
    answered = changing.asks("Metadata", 12, wanted)
    await until(lambda: changing.tree.under_way.lanes and changing.lane.sent)
    changing.allow()
    told.set()
    (topic,) = (await answered).topics
    assert topic.error_code == TOPIC_AUTHORIZATION_FAILED
    assert not topic.partitions
    assert not changing.ny.resets


async def test_a_freeze_waits_for_what_is_sent_for_other_nodes_clients() -> None:
    changing = Changing(ALTER)
    changing.connection.set()
    changing.ny.waits = True
    under_way, state = changing.tree.under_way, changing.tree.volumes["ny"].state
    answered = changing.alters(":ny:orders")
    await until(lambda: under_way.lanes and changing.lane.sent)
    watch = under_way.watch(state, lambda name: name == b"orders")
    assert len(watch.holders()) == 1
    assert not under_way.watch(state, lambda name: name == b"other").holders()
    assert not under_way.watch(changing.tree.volumes["la"].state, lambda name: True).holders()
    assert under_way.is_unsure(state)
    answered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answered
    assert len(watch.holders()) == 1, "the broker may still do it"
    assert under_way.is_unsure(state)


async def test_what_was_not_sent_holds_nothing_up() -> None:
    changing = Changing(ALTER)
    under_way, state = changing.tree.under_way, changing.tree.volumes["ny"].state
    answered = changing.alters(":ny:orders")
    await until(lambda: under_way.lanes and changing.lane.session.under_way)
    answered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answered
    assert not under_way.watch(state, lambda name: True).holders()
    assert not under_way.is_unsure(state)
