"""SCRAM: the RFC's own example, Kafka's particulars, and what an unknown user can learn."""

from __future__ import annotations

import base64
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient, ScramException, ScramMechanism

from gateway.auth.exchange import AuthenticationFailed
from gateway.auth.passwords import MAX_MESSAGE, SCRAM, ScramExchange
from gateway.auth.unknown_users import UnknownUsers
from gateway.catalog.entities import ScramCredential
from gateway.identity import Identity

ITERATIONS = 4_096


def credential(
    user: str, password: str, mechanism: str = "SCRAM-SHA-256", salt: bytes = b"0123456789ab"
) -> ScramCredential:
    made = ScramMechanism(mechanism).make_auth_info(password, ITERATIONS, salt)
    _, stored_key, server_key, iterations = made
    return ScramCredential(user, mechanism, iterations, salt, stored_key, server_key)


KNOWN = {
    (made.mechanism, made.user): made
    for mechanism in SCRAM
    for made in (
        credential("alice", "wonderland", mechanism),
        credential("a,b=c", "odd", mechanism),
        credential("\u00aa", "not prepared", mechanism),
    )
}


def begun(mechanism: str = "SCRAM-SHA-256", nonce: str | None = None) -> ScramExchange:
    return ScramExchange(mechanism, lambda: KNOWN, UnknownUsers(), nonce)


def log_in(exchange: ScramExchange, client: ScramClient) -> None:
    """Run both sides of an exchange. Raises the errors of either."""
    client.set_server_first(exchange.step(client.get_client_first().encode()).decode())
    client.set_server_final(exchange.step(client.get_client_final().encode()).decode())


def why(exchange: ScramExchange, *tokens: bytes) -> AuthenticationFailed:
    *first, last = tokens
    for token in first:
        exchange.step(token)
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.step(last)
    assert exchange.identity is None
    return failed.value


# -- the exchange -----------------------------------------------------------------------------


def test_the_example_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    known = {("SCRAM-SHA-256", "user"): credential("user", "pencil", salt=salt)}
    nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    exchange = ScramExchange("SCRAM-SHA-256", lambda: known, UnknownUsers(), nonce)
    first = exchange.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    last = exchange.step(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert last == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert exchange.identity == Identity("User:user", "SCRAM-SHA-256", user="user")


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize(("user", "password"), [("alice", "wonderland"), ("a,b=c", "odd")])
def test_right(mechanism: str, user: str, password: str) -> None:
    exchange = begun(mechanism)
    log_in(exchange, ScramClient([mechanism], user, password))
    assert exchange.user == user
    assert exchange.identity == Identity(f"User:{user}", mechanism, user=user)


def test_a_name_is_taken_as_it_was_sent() -> None:
    """RFC 4013 would make an ``a`` of it; Kafka's names are not prepared."""
    exchange = begun(nonce="server")
    first = exchange.step("n,,n=\u00aa,r=client".encode())
    client = ScramClient(["SCRAM-SHA-256"], "\u00aa", "not prepared", c_nonce="client")
    client.get_client_first()
    client.client_first_bare = "n=\u00aa,r=client"
    client.set_server_first(first.decode())
    exchange.step(client.get_client_final().encode())
    assert exchange.identity == Identity("User:\u00aa", "SCRAM-SHA-256", user="\u00aa")


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize(
    ("user", "password", "reason"),
    [
        ("alice", "wonderlan", "wrong password"),
        ("bob", "wonderland", "there is no such user"),
        ("Alice", "wonderland", "there is no such user"),
    ],
)
def test_wrong(mechanism: str, user: str, password: str, reason: str) -> None:
    exchange = begun(mechanism)
    with pytest.raises(AuthenticationFailed) as failed:
        log_in(exchange, ScramClient([mechanism], user, password))
    assert failed.value.reason == reason
    assert failed.value.message == ""
    assert exchange.user == user
    assert exchange.identity is None


def test_a_credential_of_one_mechanism_is_none_of_another() -> None:
    known = {("SCRAM-SHA-512", "alice"): KNOWN["SCRAM-SHA-512", "alice"]}
    exchange = ScramExchange("SCRAM-SHA-256", lambda: known, UnknownUsers())
    with pytest.raises(AuthenticationFailed, match="no such user"):
        log_in(exchange, ScramClient(["SCRAM-SHA-256"], "alice", "wonderland"))


FIRST = b"n,,n=alice,r=client"


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"n,,",
        b"n,,r=client",
        b"n,,n=,r=client",
        b"n,,n=alice",
        b"n,,n=alice,r=",
        b"n,,n=alice,r=client,r=client",
        b"n,,n=al=ice,r=client",
        b"n,,m=ext,n=alice,r=client",
        b"n,a=bob,n=alice,r=client",
        b"p=tls-unique,,n=alice,r=client",
        b"x,,n=alice,r=client",
        b"n,,n=alice,r=cli ent",
        b"n,,n=ali\xffce,r=client",
    ],
)
def test_malformed_first_tokens(first: bytes) -> None:
    failure = why(begun(), first)
    assert failure.reason
    assert failure.message == ""


@pytest.mark.parametrize(
    "last",
    [
        b"",
        b"c=biws,r=clientserver",
        b"c=biws,r=clientserver,p=",
        b"c=biws,r=clientserver,p=AAAA",
        b"c=biws,r=otherserver,p=" + base64.b64encode(bytes(32)),
        b"c=biws,r=client,p=" + base64.b64encode(bytes(32)),
        b"c=eSws,r=clientserver,p=" + base64.b64encode(bytes(32)),
        b"c=*,r=clientserver,p=" + base64.b64encode(bytes(32)),
        b"c=biws,r=clientserver,p=" + base64.b64encode(bytes(32)),
        b"\xff",
    ],
)
def test_malformed_last_tokens(last: bytes) -> None:
    assert why(begun(nonce="server"), FIRST, last).message == ""


def test_delegation_tokens_are_rejected_with_a_word() -> None:
    failure = why(begun(), b"n,,n=alice,r=client,tokenauth=true")
    assert failure.reason == failure.message == "delegation tokens are not served"


@given(
    tokens=st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.text("n,=ra:cwsip+/0123lient", max_size=60).map(str.encode),
            st.just(FIRST),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_garbage_is_rejected(tokens: list[bytes]) -> None:
    exchange = begun()
    for token in tokens:
        try:
            exchange.step(token)
        except AuthenticationFailed:
            return
    assert exchange.identity is None


def test_the_client_can_tell_a_server_that_does_not_know_the_password() -> None:
    """RFC 5802: the last message is the server's, and proves that it knows the user's keys."""
    exchange = begun()
    client = ScramClient(["SCRAM-SHA-256"], "alice", "wonderland")
    client.set_server_first(exchange.step(client.get_client_first().encode()).decode())
    last = exchange.step(client.get_client_final().encode()).decode()
    other = "A" if last[2] != "A" else "B"
    with pytest.raises(ScramException):
        client.set_server_final(last[:2] + other + last[3:])


@pytest.mark.alone
@pytest.mark.parametrize("size", [MAX_MESSAGE - 10, MAX_MESSAGE, 60_000, 512 * 1024])
def test_no_message_costs_much_before_it_is_known_whose_it_is(size: int) -> None:
    """A library prepares names character by character, and 60,000 of them took 0.1 s."""
    exchange = begun()
    token = b"n,,n=" + "\u00aa".encode() * (size // 2) + b",r=nonce"
    began = time.process_time()
    with suppress(AuthenticationFailed):
        exchange.step(token)
    assert time.process_time() - began < 0.03
