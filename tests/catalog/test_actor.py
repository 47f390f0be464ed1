"""The principal for whom a change is made is known inside the change, and nowhere else
afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.catalog.source import ACTOR, GATEWAY, Actor
from gateway.changes.base.context import Answered
from gateway.commands import backend
from tests.connections.connected import connected, settled
from tests.session.pair import Pair, request_frame
from tests.session.test_changes import create


async def test_a_clients_change_knows_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()
    seen: list[Actor] = []
    real = pair.worker.changes.create_topics

    async def noted(*arguments: Any) -> Answered:
        seen.append(ACTOR.get())
        return await real(*arguments)

    monkeypatch.setattr(pair.worker.changes, "create_topics", noted)
    connection, _, _ = connected(pair)
    connection.data_received(request_frame("CreateTopics", 7, create("org:")))
    await settled()
    source = pair.session.state.source
    assert seen == [
        Actor(source.principal, source.client_address, "test", "test-client", "CreateTopics")
    ]
    assert ACTOR.get() == GATEWAY
    assert pair.session.working == ""


def test_an_operator_goes_by_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "carol")
    found = backend.operator_actor("kafka-gateway catalog import")
    assert found == Actor("operator:carol", api="kafka-gateway catalog import")


def test_an_operator_without_a_login_goes_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_login() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", no_login)
    monkeypatch.setattr("os.getuid", lambda: 12_345)
    assert backend.operator_actor("x").principal == "operator:12345"
