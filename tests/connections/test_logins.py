"""Which clients may log in, and which may stay: limits, sessions that end, users who are
removed."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.auth.exchange import CredentialsError
from gateway.auth.unknown_users import Credentials
from gateway.config.models import Listener
from gateway.config.security import ListenerSasl, Secret, Unauthenticated
from gateway.connections import expired_sessions, logins
from gateway.connections.closing import SESSION_EXPIRED, TOO_LATE
from gateway.connections.connection import Connection
from gateway.connections.login_connection import LoginConnection
from gateway.connections.logins import Logins
from gateway.connections.waiting_clients import LONGER_ABOUT_IT
from gateway.counts import Counts
from gateway.identity import Identity
from gateway.session.expiry import NEVER
from tests.waiting import eventually


def _no_scram(listener: str) -> Credentials:
    """Return no SCRAM credentials, for any listener."""
    return {}


class Sasl:
    """Logins for the listeners ``sasl`` (PLAIN: alice) and ``open``, and their effects."""

    def __init__(self, directory: Path, **limits: Any) -> None:
        self.file = directory / "alice"
        self.file.write_text("wonderland")
        users = {"alice": Secret(file=self.file)}
        listeners = [
            Listener(name="open", port=1),
            Listener(
                name="sasl",
                port=2,
                security_protocol="SASL_PLAINTEXT",
                sasl=ListenerSasl(mechanisms=("PLAIN",), users=users),
            ),
        ]
        self.revoked: list[tuple[Connection, str]] = []
        self.reviews = 0
        self.counts = Counts()
        self.logins = Logins(
            listeners, Unauthenticated(**limits), _no_scram, self.counts, self._revoke, self._review
        )

    def _revoke(self, connection: Connection, reason: str) -> None:
        self.revoked.append((connection, reason))
        self.logins.closed(connection)

    def _review(self) -> None:
        self.reviews += 1


class FakeLogin:
    """A login under way."""

    def __init__(self, sasl: Sasl, listener: str = "sasl") -> None:
        self.listener = listener
        self.host = "127.0.0.1"
        self.reasons: list[str] = []
        self._logins = sasl.logins

    @property
    def connection(self) -> LoginConnection:
        return cast(LoginConnection, self)

    def close(self, reason: str, *, quietly: bool = False) -> None:
        self.reasons.append(reason)
        self._logins.left(self.connection)

    def give_way(self, reason: str) -> None:
        self.close(reason)


class FakeConnection:
    """An open connection, with no request under way."""

    def __init__(self) -> None:
        self.session = SimpleNamespace(first=None, waiting=None, ends=None)


def opened(sasl: Sasl, expires: float | None) -> Connection:
    """A connection whose login ends at ``expires``."""
    made = cast(Connection, FakeConnection())
    sasl.logins.identified(made, Identity("User:alice", "PLAIN", expires, "alice"))
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep all the time."""
    monkeypatch.setattr(logins, "SWEEP_SECONDS", 0.005)
    monkeypatch.setattr(logins, "LOOK_SECONDS", 0.01)


# -- logins -----------------------------------------------------------------------------------


def test_logins_are_bounded_for_each_listener(tmp_path: Path) -> None:
    """The client that has taken longest gives way."""
    sasl = Sasl(tmp_path, max_connections=3, max_share_per_ip=1.0)
    first, second, third, fourth = (FakeLogin(sasl) for _ in range(4))
    for login in (first, second, third):
        sasl.logins.arrived(login.connection)
    sasl.logins.spoke(first.connection)
    sasl.logins.arrived(FakeLogin(sasl, "open").connection)
    assert sasl.logins.under_way("sasl") == 3
    sasl.logins.arrived(fourth.connection)
    assert [login.reasons for login in (first, second, third, fourth)] == [
        [],
        [LONGER_ABOUT_IT],
        [],
        [],
    ]
    assert sasl.logins.under_way("sasl") == 3
    sasl.logins.left(first.connection)
    sasl.logins.left(first.connection)
    assert sasl.logins.under_way("sasl") == 2


@pytest.mark.usefixtures("quick")
async def test_a_login_takes_its_time_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, swept = 100.0, 0

    def sweeping() -> float:
        nonlocal swept
        swept += 1
        return now

    async def sweep_twice() -> None:
        wanted = swept + 2
        await eventually(lambda: swept >= wanted, "two sweeps")

    clock = SimpleNamespace(monotonic=sweeping)  # each sweep looks at it once
    monkeypatch.setattr(logins, "time", clock)
    sasl = Sasl(tmp_path, max_seconds=2)
    early, late = FakeLogin(sasl), FakeLogin(sasl)
    sasl.logins.start()
    sasl.logins.arrived(early.connection)
    now = 101.0
    sasl.logins.arrived(late.connection)
    now = 101.9
    await sweep_twice()
    assert early.reasons == []
    now = 102.0
    await eventually(lambda: early.reasons, "the end of the first")
    await sweep_twice()
    assert late.reasons == []
    now = 103.0
    await eventually(lambda: late.reasons, "the end of the second")
    await sasl.logins.stop()
    assert early.reasons == late.reasons == [TOO_LATE]
    assert sasl.logins.under_way("sasl") == 0


async def test_logins_end_with_the_gateway(tmp_path: Path) -> None:
    sasl = Sasl(tmp_path)
    login = FakeLogin(sasl)
    sasl.logins.start()
    sasl.logins.arrived(login.connection)
    await sasl.logins.stop()
    assert login.reasons == ["gateway stops"]


async def test_what_cannot_be_read_keeps_it_from_starting(tmp_path: Path) -> None:
    sasl = Sasl(tmp_path)
    sasl.file.unlink()
    with pytest.raises(CredentialsError, match=r"^listeners\[1\]\.sasl\.users\.alice: "):
        sasl.logins.start()


def test_results_are_counted(tmp_path: Path) -> None:
    sasl = Sasl(tmp_path)
    sasl.logins.count("sasl", "PLAIN", "accepted")
    sasl.logins.count("sasl", "PLAIN", "accepted")
    sasl.logins.count("sasl", "", "refused")
    assert sorted(sasl.counts.take()) == [
        ("authentications", ("sasl", "(none)", "refused"), 1),
        ("authentications", ("sasl", "PLAIN", "accepted"), 2),
    ]


# -- sessions ---------------------------------------------------------------------------------


def test_a_session_knows_its_end(tmp_path: Path) -> None:
    sasl = Sasl(tmp_path)
    before = time.monotonic()
    renewed = opened(sasl, time.time() + 60)
    assert before + 59 < renewed.session.ends < time.monotonic() + 61
    sasl.logins.identified(renewed, Identity("User:alice", "PLAIN"))
    assert renewed.session.ends == NEVER


@pytest.mark.usefixtures("quick")
async def test_one_that_outlives_its_login_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expired_sessions, "IDLE_SECONDS", 0.05)
    sasl = Sasl(tmp_path)
    sasl.logins.start()
    gone, ending = (opened(sasl, time.time() + 0.05) for _ in range(2))
    sasl.logins.closed(gone)
    await eventually(lambda: sasl.revoked, "the end")
    await sasl.logins.stop()
    assert sasl.revoked == [(ending, SESSION_EXPIRED)]


ALICE = Identity("User:alice", "PLAIN", user="alice")


@pytest.mark.usefixtures("quick")
async def test_a_user_who_is_gone(tmp_path: Path) -> None:
    sasl = Sasl(tmp_path)
    sasl.logins.start()
    assert sasl.logins.why_not("sasl", ALICE) is None
    assert sasl.logins.why_not("sasl", Identity("User:bob", "PLAIN", user="bob")) is not None
    assert sasl.logins.why_not("open", ALICE) is None  # if no login was needed
    sasl.file.unlink()
    await eventually(lambda: sasl.reviews, "the review")
    await sasl.logins.stop()
    assert sasl.logins.why_not("sasl", ALICE) == "user is gone"
    assert sasl.reviews == 1
