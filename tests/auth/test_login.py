"""Logins: which request may come when, the responses, and that cuts change nothing."""

from __future__ import annotations

import pytest

from gateway.auth.login import MAX_VERSION_TRIES, Login
from gateway.identity import Identity
from protocol.errors import ProtocolError
from protocol.headers import frame
from tests.auth.logins import (
    SERVED,
    Accepts,
    answer,
    api_versions,
    authenticate,
    frames,
    handshake,
    login,
    request,
    taken,
)
from tests.session.pair import raw_frame

VERSIONS = api_versions()
ONE, TWO, UNLISTED = handshake("ONE"), handshake("TWO"), handshake("GSSAPI")
ONE_RAW, TWO_RAW = handshake("ONE", 0), handshake("TWO", 0)
TOKEN, BAD = authenticate(b"alice"), authenticate(b"bad")
METADATA = request("Metadata", 4, topics=())


def after(*sent: bytes) -> Login:
    """A login that got these frames, each alone."""
    made = login()
    for data in sent:
        made.data(data)
    return made


# -- the order of requests --------------------------------------------------------------------

START: tuple[bytes, ...] = ()
STATES: dict[str, tuple[bytes, ...]] = {
    "start": START,
    "versions asked": (VERSIONS,),
    "after a handshake": (ONE,),
    "after versions and a handshake": (VERSIONS, ONE),
    "within an exchange": (TWO, authenticate(b"first")),
}
ALLOWED = {
    ("start", "ApiVersions"),
    ("start", "SaslHandshake"),
    ("versions asked", "SaslHandshake"),
    ("after a handshake", "SaslAuthenticate"),
    ("after versions and a handshake", "SaslAuthenticate"),
    ("within an exchange", "SaslAuthenticate"),
}
REQUESTS = {
    "ApiVersions": VERSIONS,
    "SaslHandshake": ONE,
    "SaslAuthenticate": TOKEN,
    "Metadata": METADATA,
    "Produce": request("Produce", 9, acks=1),
    "CreateDelegationToken": request("CreateDelegationToken", 2),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", REQUESTS)
def test_the_table_of_states(state: str, name: str) -> None:
    made = after(*STATES[state])
    taken(made)
    if (state, name) in ALLOWED:
        made.data(REQUESTS[name])
        assert len(list(frames(taken(made)))) == 1
    else:
        with pytest.raises(ProtocolError, match="at this point of a login"):
            made.data(REQUESTS[name])
        assert taken(made) == b""
    assert made.failed is None
    assert (made.identity is not None) is ((state, name) in ALLOWED and name == "SaslAuthenticate")


@pytest.mark.parametrize("version", range(5))
def test_versions(version: int) -> None:
    made = after(api_versions(version))
    (payload,) = frames(taken(made))
    assert payload == b"\x00\x00\x00\x01" + SERVED
    named = ("test-client", "1.0") if version >= 3 else ("unknown", "unknown")
    assert made.software == named


def test_versions_from_the_future_are_told_in_version_0_and_asked_for_again() -> None:
    future = bytearray(VERSIONS)
    future[6:8] = (99).to_bytes(2, "big")
    made = after(bytes(future))
    (payload,) = frames(taken(made))
    told = answer("ApiVersions", 0, payload)
    assert int(told.error_code) == 35
    assert [(key.api_key, key.min_version, key.max_version) for key in told.api_keys] == [
        (18, 0, 4)
    ]
    made.data(api_versions(4))
    made.data(ONE)
    assert made.mechanism == "ONE"


def test_client_software_that_is_none_is_told_and_asked_for_again() -> None:
    made = after(request("ApiVersions", 3, client_software_name="-", client_software_version="1.0"))
    (payload,) = frames(taken(made))
    assert int(answer("ApiVersions", 3, payload).error_code) == 42
    made.data(VERSIONS)
    assert made.software == ("test-client", "1.0")


@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_lists_the_mechanisms(version: int) -> None:
    made = after(handshake("ONE", version))
    (payload,) = frames(taken(made))
    told = answer("SaslHandshake", version, payload)
    assert (int(told.error_code), told.mechanisms) == (0, ("ONE", "TWO"))
    assert made.mechanism == "ONE"


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mechanism", ["GSSAPI", "one", "", "SCRAM-SHA-1"])
def test_an_unlisted_mechanism_is_the_end(version: int, mechanism: str) -> None:
    made = after(handshake(mechanism, version))
    assert taken(made) == b""
    assert made.failed is not None
    assert made.failed.reason == "it chose a mechanism that is not enabled"
    (payload,) = frames(made.failed.response)
    told = answer("SaslHandshake", version, payload)
    assert (int(told.error_code), told.mechanisms) == (33, ("ONE", "TWO"))
    assert made.mechanism == ""  # a name that anybody may choose is no label
    made.data(ONE)
    assert taken(made) == b""


@pytest.mark.parametrize(
    "wrong",
    [
        handshake("ONE")[:6] + b"\x00\x02" + handshake("ONE")[8:],
        handshake("ONE")[:6] + b"\xff\xff" + handshake("ONE")[8:],
        frame(b"GET / HTTP/1.1\r\n\r\n"),
        frame(b"\x60\x82" + bytes(30)),  # a bare GSSAPI token of Kafka 0.9
        frame(bytes(9)),
        frame(b""),
        b"\xff\xff\xff\xff",
        b"\x16\x03\x01\x02\x00\x01",  # TLS on a port without TLS
    ],
)
def test_what_is_no_login(wrong: bytes) -> None:
    with pytest.raises(ProtocolError):
        login().data(wrong)


# -- tokens -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_one_token(version: int) -> None:
    made = after(ONE)
    taken(made)
    made.data(authenticate(b"alice", version))
    (payload,) = frames(taken(made))
    told = answer("SaslAuthenticate", version, payload)
    assert (int(told.error_code), told.error_message, told.auth_bytes) == (0, None, b"done")
    assert made.identity == Identity("User:alice", "ONE")
    assert made.user == "alice"


def test_two_tokens() -> None:
    made = after(TWO)
    taken(made)
    made.data(authenticate(b"first"))
    (payload,) = frames(taken(made))
    assert answer("SaslAuthenticate", 2, payload).auth_bytes == b"more first"
    assert made.identity is None
    made.data(authenticate(b"alice"))
    assert made.identity == Identity("User:alice", "ONE")


@pytest.mark.parametrize(("version", "told"), [(0, None), (1, 90), (2, 90)])
def test_how_long_a_session_lasts(version: int, told: int | None) -> None:
    made = login(Accepts(90_000))
    made.data(ONE)
    taken(made)
    made.data(authenticate(b"alice", version))
    (payload,) = frames(taken(made))
    response = answer("SaslAuthenticate", version, payload)
    lifetime = getattr(response, "session_lifetime", None)
    assert (None if lifetime is None else lifetime.total_seconds()) == told


def test_only_the_last_token_is_told_how_long() -> None:
    made = login(Accepts(90_000))
    made.data(TWO)
    taken(made)
    made.data(authenticate(b"first"))
    (payload,) = frames(taken(made))
    assert answer("SaslAuthenticate", 2, payload).session_lifetime.total_seconds() == 0


@pytest.mark.parametrize("version", range(3))
def test_a_bad_token(version: int) -> None:
    made = after(ONE)
    taken(made)
    made.data(authenticate(b"bad", version))
    assert taken(made) == b""
    assert made.failed is not None
    assert made.failed.reason == "it was bad"
    (payload,) = frames(made.failed.response)
    told = answer("SaslAuthenticate", version, payload)
    assert int(told.error_code) == 58
    assert told.error_message == "Authentication with ONE failed: it is bad."
    assert (made.identity, made.user, made.mechanism) == (None, "bad", "ONE")
    made.data(TOKEN)
    assert made.identity is None


def test_what_cannot_be_told_is_not_answered() -> None:
    made = after(ONE, authenticate(b"wait"))
    assert made.failed is not None
    assert (made.failed.reason, made.failed.response) == ("not now", b"")


def test_bare_tokens_after_a_handshake_of_version_0() -> None:
    made = after(TWO_RAW)
    taken(made)
    made.data(frame(b"first"))
    assert taken(made) == frame(b"more first")
    made.data(frame(b"alice"))
    assert taken(made) == frame(b"done")
    assert made.identity == Identity("User:alice", "ONE")


def test_a_bad_bare_token_has_no_answer() -> None:
    made = after(ONE_RAW, frame(b"bad"))
    assert made.failed is not None
    assert made.failed.response == b""


def test_a_bare_token_may_be_empty() -> None:
    made = after(ONE_RAW, frame(b""))
    assert made.identity == Identity("User:nameless", "ONE")


def test_no_broker_is_asked() -> None:
    made = after(ONE, TOKEN)
    made.broker_ready()
    assert not made.wants_broker
    assert made.to_broker == []
    with pytest.raises(ProtocolError):
        made.broker_data(b"answer")


def test_versions_are_asked_for_a_few_times_only() -> None:
    """64 KiB of them took the event loop 0.2 s, before the login."""
    client = login()
    client.data(raw_frame(18, 99, b"") * MAX_VERSION_TRIES)
    assert len(client.to_client) == MAX_VERSION_TRIES
    with pytest.raises(ProtocolError, match="API versions"):
        client.data(raw_frame(18, 99, b""))
