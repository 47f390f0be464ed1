"""How clients are admitted, and which may stay, on a server of which nothing is started."""

from __future__ import annotations

import time
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytest

from devkit.ports import free_ports
from gateway.auth.reauthentication import Reauthentication
from gateway.catalog.entities import PrincipalHome, Removal, ScramCredential, key_of
from gateway.catalog.freezes import UNDER_WAY
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.config.reach import reach_addresses
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import SESSION_EXPIRED
from gateway.connections.connection import Connection
from gateway.connections.login_connection import LoginConnection
from gateway.identity import Identity
from gateway.processes.server import Server
from protocol import messages
from tests.auth.logins import Accepts, answer, api_versions, authenticate, frames, handshake
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeCatalog, Log
from tests.config import config_samples
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.session.pair import raw_frame, request_frame, response_frame
from tests.session.producing import batch, produce

PLAIN = b"\0alice\0wonderland"


class Gate:
    """A server with the listeners ``open`` and ``sasl``, and its audit events."""

    def __init__(self, directory: Path, **overrides: Any) -> None:
        (directory / "alice").write_text("wonderland")
        ports = free_ports(8)
        listeners = [
            {"name": "open", "port": ports[0]},
            {
                "name": "sasl",
                "port": ports[4],
                "security_protocol": "SASL_PLAINTEXT",
                "sasl": {
                    "mechanisms": ["PLAIN", "SCRAM-SHA-256"],
                    "users": {"alice": {"file": str(directory / "alice")}},
                },
            },
        ]
        config = config_samples.config(directory, listeners=listeners, **overrides)
        self.config = config
        self.catalog = FakeCatalog(Log(Snapshot.of(["team-a", "team-b"])), no_step)
        self.server = Server(config, cast(ReplicatedCatalog, self.catalog))
        self.catalog.subscribe(self.server.served[0].catalog_changed)
        self.server.clients.logins.sasl["sasl"].load()
        cluster = self.server.served[0].cluster
        cluster.nodes.learn(1, messages.build(messages.message_class("ApiVersionsResponse", 4)))
        self.audited: list[tuple[object, ...]] = []
        self.server.audit.authentication_failed = (  # type: ignore[method-assign]
            lambda *told, principal="": self.audited.append((*told, principal))
        )
        self.server.audit.connection_revoked = (  # type: ignore[method-assign]
            lambda source, reason: self.audited.append((source.principal, reason))
        )

    def arrive(self, listener: int) -> tuple[Any, FakeTransport]:
        """A client connects to a listener, by its place in the configuration."""
        settings = self.config.listeners[listener]
        target = reach_addresses(self.config, settings).bootstrap
        protocol = self.server.clients.admission.accept(settings, target)
        transport = FakeTransport()
        protocol.connection_made(transport)
        return protocol, transport

    def inside(self) -> tuple[Connection, FakeTransport]:
        """Let alice log in."""
        login, transport = self.arrive(1)
        login.data_received(api_versions() + handshake("PLAIN") + authenticate(PLAIN))
        assert isinstance(transport.protocol, Connection)
        transport.taken()
        return transport.protocol, transport

    def change(self, *changes: Any) -> None:
        """Change the catalog."""
        self.catalog.log.append(changes)

    def rows(self) -> dict[tuple[str | int, ...], object]:
        """The counts of authentications."""
        report = self.server.collect()
        return {labels: count for name, labels, count in report.rows if name == "authentications"}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path, principals={"User:alice": {"home": "team-a"}})


def test_nobody_is_asked_where_nobody_need_be(gate: Gate) -> None:
    connection, _ = gate.arrive(0)
    assert isinstance(connection, Connection)
    state = connection.session.state
    assert (state.identity.principal, state.source.principal) == ("User:ANONYMOUS",) * 2
    report = gate.server.collect()
    assert report.connections == {"open": 1, "sasl": 0}
    assert ("connections", ("open",), 1) in report.rows


async def test_who_logs_in_is_that_principal(gate: Gate) -> None:
    connection, transport = gate.inside()
    state = connection.session.state
    assert transport.protocol is connection
    assert state.identity == Identity("User:alice", "PLAIN", user="alice")
    assert state.source.principal == "User:alice"
    assert (state.source.software_name, state.source.software_version) == ("test-client", "1.0")
    assert state.view.settings.home == "team-a"
    assert state.host == "127.0.0.1"
    assert gate.server.clients.connections == {connection}
    report = gate.server.collect()
    assert report.connections == {"open": 0, "sasl": 1}
    assert ("connections", ("sasl",), 1) in report.rows


async def test_a_login_is_counted_as_open_from_the_start(gate: Gate) -> None:
    login, _ = gate.arrive(1)
    assert isinstance(login, LoginConnection)
    report = gate.server.collect()
    assert report.connections == {"open": 0, "sasl": 1}
    assert ("connections", ("sasl",), 1) in report.rows
    login.close("enough")
    assert gate.server.collect().connections == {"open": 0, "sasl": 0}


async def test_results_are_counted_and_failures_audited(gate: Gate) -> None:
    gate.inside()
    login, _ = gate.arrive(1)
    login.data_received(handshake("PLAIN") + authenticate(b"\0alice\0wrong"))
    assert gate.rows() == {("sasl", "PLAIN", "accepted"): 1, ("sasl", "PLAIN", "refused"): 1}
    assert gate.audited == [("sasl", "127.0.0.1:5000", "PLAIN", "alice", "wrong password", "")]


async def test_versions_are_told_before_a_login(gate: Gate) -> None:
    login, transport = gate.arrive(1)
    login.data_received(api_versions())
    (payload,) = frames(transport.taken())
    told = answer("ApiVersions", 3, payload)
    assert {17, 36} <= {key.api_key for key in told.api_keys}


# -- staying ----------------------------------------------------------------------------------


async def test_a_user_who_is_gone(gate: Gate, tmp_path: Path) -> None:
    connection, transport = gate.inside()
    other, _ = gate.arrive(0)
    (tmp_path / "alice").unlink()
    assert gate.server.clients.logins.sasl["sasl"].look_again()
    gate.server.clients.admission.review()
    assert transport.closed
    assert gate.audited == [("User:alice", "user is gone")]
    assert not other.closing
    assert ("closes", ("user is gone",), 1) in gate.server.collect().rows
    assert connection.session.state.source.principal == "User:alice"


async def test_a_scram_credential_that_is_gone(gate: Gate) -> None:
    connection, transport = gate.inside()
    bob = ScramCredential("bob", "SCRAM-SHA-256", 4_096, b"", b"", b"")
    gate.change(bob)
    gate.server.clients.admission.identified(
        connection, Identity("User:bob", "SCRAM-SHA-256", user="bob")
    )
    gate.change(PrincipalHome("User:carol", "team-b"))
    assert not transport.closed
    gate.change(Removal(key_of(bob)))
    assert transport.closed
    assert gate.audited == [("User:bob", "user is gone")]


async def test_a_worker_that_was_stopped_closes_its_views_first(gate: Gate) -> None:
    """The bytes in its sockets come before its timers."""
    (connection, _), (other, _) = gate.inside(), gate.inside()
    session = connection.session
    gate.catalog.validity.until = monotonic() + 3600.0
    session.client_data(raw_frame(18, 0, b"")[:8])
    assert not session.state.view.closed
    gate.catalog.validity.until = monotonic() - 1e-6
    session.client_data(raw_frame(18, 0, b"")[8:])
    assert session.state.view.closed
    assert other.session.state.view.closed


@pytest.mark.parametrize("late", [False, True])
async def test_what_is_under_way_ends_before_changes_go_on_without_it(
    gate: Gate, late: bool
) -> None:
    """Changes go on ``UNDER_WAY`` seconds after the catalog went out of date here."""
    (connection, transport), (_, idle) = gate.inside(), gate.inside()
    connection.session.client_data(request_frame("Produce", 9, produce({"orders": [batch(1)]})))
    assert connection.session.to_broker
    gate.catalog.age = gate.config.catalog.max_staleness
    if late:
        gate.catalog.age += UNDER_WAY / 2000
    gate.catalog.goes_stale()
    assert (transport.closed, idle.closed) == (late, False)


async def test_a_home_that_changes(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.change(PrincipalHome("User:alice", "team-a"))
    connection, transport = gate.inside()
    assert connection.session.state.view.settings.home == "team-a"
    gate.change(PrincipalHome("User:bob", "team-b"))
    assert not transport.closed
    gate.change(PrincipalHome("User:alice", "team-b"))
    assert transport.closed
    assert gate.audited == [("User:alice", "home namespace of its principal has changed")]


async def test_the_configurations_word_on_a_home_counts(gate: Gate) -> None:
    connection, transport = gate.inside()
    gate.change(PrincipalHome("User:alice", "team-b"))
    assert not transport.closed
    assert connection.session.state.view.settings.home == "team-a"


# -- again ------------------------------------------------------------------------------------


def begun(connection: Connection, mechanism: str = "ONE") -> Reauthentication:
    state = connection.session.state
    reauth = Reauthentication(Accepts(), Identity("User:alice", "ONE"), mechanism, 0.0)
    state.reauth = reauth
    return reauth


async def test_a_re_authentication_prolongs_a_session(gate: Gate) -> None:
    connection, transport = gate.inside()
    reauth = begun(connection)
    gate.server.clients.admission.reauthenticated(connection)  # it has only begun
    assert connection.session.state.reauth is reauth
    reauth.step(2, b"alice")
    reauth.identity = Identity("User:alice", "ONE", time.time() + 60)
    gate.server.clients.admission.reauthenticated(connection)
    assert connection.session.state.reauth is None
    assert connection.session.state.identity == reauth.identity
    assert monotonic() + 59 < connection.session.ends < monotonic() + 61
    assert gate.rows()["sasl", "ONE", "renewed"] == 1
    assert not transport.closed


async def test_one_that_fails_is_the_end(gate: Gate) -> None:
    connection, transport = gate.inside()
    begun(connection).step(2, b"bad")
    gate.server.clients.admission.reauthenticated(connection)
    assert transport.closed
    assert gate.audited == [("sasl", "127.0.0.1:5000", "ONE", "bad", "it was bad", "User:alice")]
    report = gate.server.collect()
    assert ("authentications", ("sasl", "ONE", "not renewed"), 1) in report.rows
    assert ("closes", ("re-authentication failed",), 1) in report.rows


async def test_where_there_is_none(gate: Gate) -> None:
    connection, transport = gate.inside()
    gate.server.clients.admission.reauthenticated(connection)
    assert not transport.closed


# -- over -------------------------------------------------------------------------------------


async def test_a_request_after_the_end_closes_the_connection(gate: Gate) -> None:
    connection, transport = gate.inside()
    alice = Identity("User:alice", "PLAIN", time.time() - 1, "alice")
    gate.server.clients.admission.identified(connection, alice)
    assert not transport.closed
    broker = FakeTransport()
    BrokerSide(connection, place_of(connection)).connection_made(broker)
    connection.data_received(request_frame("Produce", 9, produce({"orders": [batch(1)]})))
    assert broker.written == b""
    assert (transport.closed, broker.closed, broker.aborted) == (True, True, False)
    assert gate.audited == [("User:alice", SESSION_EXPIRED)]
    assert ("closes", (SESSION_EXPIRED,), 1) in gate.server.collect().rows


async def test_a_response_under_way_is_written_before(gate: Gate) -> None:
    """Requests behind it are not forwarded."""
    connection, transport = gate.inside()
    broker = FakeTransport()
    BrokerSide(connection, place_of(connection)).connection_made(broker)
    join = messages.build(messages.message_class("JoinGroupRequest", 5), group_id="app")
    connection.data_received(request_frame("JoinGroup", 5, join))
    assert broker.taken()
    connection.session.ends = monotonic()
    connection.data_received(request_frame("Produce", 9, produce({"orders": [batch(1)]})))
    assert not transport.closed
    joined = messages.build(messages.message_class("JoinGroupResponse", 5))
    connection.broker_data(response_frame("JoinGroup", 5, joined))
    assert len([*frames(transport.taken())]) == 1
    assert transport.closed
    assert broker.written == b""
    assert gate.audited == [("User:alice", SESSION_EXPIRED)]
