"""SCRAM credentials: RFC 5802's arithmetic, KIP-554's errors, and that no secret is returned."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.security import scram_messages
from gateway.catalog.entities import Removal, ScramCredential
from gateway.catalog.schema.scram_bounds import MECHANISMS
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from protocol import messages
from protocol.messages import element_class, make

SHA_256, SHA_512 = 1, 2
SALTED = {SHA_256: b"s" * 32, SHA_512: b"S" * 64}
SALT = b"salt of some bytes"


def upsertion(user: str, mechanism: int = SHA_256, **values: Any) -> dict[str, object]:
    base = {
        "name": user,
        "mechanism": mechanism,
        "iterations": 4096,
        "salt": SALT,
        "salted_password": SALTED.get(mechanism, b"s" * 32),
    }
    return {**base, **values}


def asked(*upsertions: dict[str, object], delete: tuple[tuple[str, int], ...] = ()) -> Any:
    cls = messages.message_class("AlterUserScramCredentialsRequest", 0)
    one, gone = element_class(cls, "upsertions"), element_class(cls, "deletions")
    return make(
        cls,
        {
            "upsertions": tuple(make(one, each) for each in upsertions),
            "deletions": tuple(make(gone, {"name": n, "mechanism": m}) for n, m in delete),
        },
    )


def codes(snapshot: Snapshot, request: Any) -> dict[str, int]:
    answers = scram_messages.alter(snapshot, request).answers
    return {user: 0 if why is None else why.code for user, why in answers.items()}


def after(snapshot: Snapshot, request: Any) -> Snapshot:
    return snapshot.apply(scram_messages.alter(snapshot, request).changes, snapshot.version + 1)


EMPTY = Snapshot()
BOTH = after(EMPTY, asked(upsertion("bob"), upsertion("bob", SHA_512, iterations=8192)))


def test_the_keys_of_rfc_7677() -> None:
    """The example of its section 3: user ``user``, password ``pencil``."""
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    stored, server = scram_messages.keys(MECHANISMS[SHA_256], salted)
    nonce = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = b"n=user,r=rOprNGfwEbeRWgbNEkqO,%b,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,%b"
    said %= (nonce, nonce)
    signature = b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    assert hmac.digest(server, said, "sha256") == signature
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    mask = hmac.digest(stored, said, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, mask, strict=True))
    assert hashlib.sha256(client_key).digest() == stored


def test_a_credential_is_made_of_what_was_sent() -> None:
    found = BOTH.scram["SCRAM-SHA-256", "bob"]
    stored, server = scram_messages.keys(MECHANISMS[SHA_256], SALTED[SHA_256])
    assert found == ScramCredential("bob", "SCRAM-SHA-256", 4096, SALT, stored, server)
    assert BOTH.scram["SCRAM-SHA-512", "bob"].iterations == 8192
    assert len(BOTH.scram["SCRAM-SHA-512", "bob"].stored_key) == 64
    for credential in BOTH.scram.values():
        assert SALTED[SHA_256] not in (credential.stored_key, credential.server_key)


def test_once_more_changes_nothing() -> None:
    same = scram_messages.alter(BOTH, asked(upsertion("bob")))
    assert same.answers == {"bob": None}
    assert same.changes == []
    other = scram_messages.alter(BOTH, asked(upsertion("bob", salt=b"another salt")))
    assert len(other.changes) == 1


def test_deletions() -> None:
    alteration = scram_messages.alter(BOTH, asked(delete=(("bob", SHA_256),)))
    assert alteration.changes == [Removal(("scram", "SCRAM-SHA-256/bob"))]
    left = after(BOTH, asked(delete=(("bob", SHA_256), ("eve", SHA_256))))
    assert list(left.scram) == [("SCRAM-SHA-512", "bob")]
    assert codes(left, asked(delete=(("bob", SHA_256),))) == {"bob": 91}


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"iterations": 4095}, 93),
        ({"iterations": 4096}, 0),
        ({"iterations": 16384}, 0),
        ({"iterations": 16385}, 93),
        ({"iterations": -1}, 93),
        ({"salt": b""}, 93),
        ({"salt": b"x" * 11}, 93),
        ({"salt": b"x" * 12}, 0),
        ({"salt": b"x" * 1025}, 93),
        ({"salted_password": b""}, 93),
        ({"salted_password": b"x" * 31}, 93),
        ({"salted_password": b"x" * 64}, 93),
        ({"mechanism": 0}, 33),
        ({"mechanism": 3}, 33),
        ({"mechanism": -1}, 33),
        ({"name": ""}, 93),
        ({"name": "x" * 1025}, 93),
    ],
)
def test_what_is_rejected(values: dict[str, Any], code: int) -> None:
    request = asked(upsertion("eve", **values))
    alteration = scram_messages.alter(EMPTY, request)
    assert list(codes(EMPTY, request).values()) == [code]
    assert bool(alteration.changes) is (code == 0)
    assert list(alteration.answers) == scram_messages.users_of(request)


def test_a_user_twice() -> None:
    twice = asked(
        upsertion("bob", salt=b"1" * 12), upsertion("bob", salt=b"2" * 12), upsertion("eve")
    )
    assert codes(BOTH, twice) == {"bob": 92, "eve": 0}
    assert [c.user for c in scram_messages.alter(BOTH, twice).changes] == ["eve"]  # type: ignore[union-attr]
    both_ways = asked(upsertion("bob", salt=b"1" * 12), delete=(("bob", SHA_256),))
    assert codes(BOTH, both_ways) == {"bob": 92}
    assert after(BOTH, both_ways).scram == BOTH.scram


def test_two_mechanisms_of_one_user() -> None:
    assert codes(EMPTY, asked(upsertion("bob"), upsertion("bob", SHA_512))) == {"bob": 0}
    # It has a single result, so all of it is done or none.
    mixed = asked(
        upsertion("bob", salt=b"a new salt it is"), upsertion("bob", SHA_512, iterations=1)
    )
    assert codes(BOTH, mixed) == {"bob": 93}
    assert after(BOTH, mixed).scram == BOTH.scram


def described(snapshot: Snapshot, *users: str) -> dict[str, Any]:
    body = scram_messages.description_response(0, snapshot, users)
    response = messages.parse("DescribeUserScramCredentialsResponse", 0, body)
    assert not response.error_code
    return {
        result.user: int(result.error_code)
        or [(info.mechanism, info.iterations) for info in result.credential_infos]
        for result in response.results
    }


def test_descriptions() -> None:
    bob = [(SHA_256, 4096), (SHA_512, 8192)]
    more = after(BOTH, asked(upsertion("alice", SHA_512)))
    assert described(more) == {"alice": [(SHA_512, 4096)], "bob": bob}
    assert list(described(more)) == ["alice", "bob"]
    assert described(more, "bob") == {"bob": bob}
    assert described(more, "eve", "bob") == {"eve": 91, "bob": bob}
    assert described(more, "bob", "alice", "bob") == {"bob": 92, "alice": [(SHA_512, 4096)]}
    assert described(EMPTY) == {}


def test_no_answer_holds_a_secret() -> None:
    body = scram_messages.description_response(0, BOTH, ())
    for credential in BOTH.scram.values():
        for secret in (credential.salt, credential.stored_key, credential.server_key):
            assert secret not in body
            assert secret.hex() not in repr(credential)
            assert repr(secret) not in repr(credential)


def test_the_whole_request_rejected() -> None:
    why = Denied(31, "Not you.", "acl")
    request = asked(upsertion("bob"), upsertion("eve"), delete=(("bob", SHA_256),))
    users = scram_messages.users_of(request)
    body = scram_messages.alteration_response(0, dict.fromkeys(users, why))
    response = messages.parse("AlterUserScramCredentialsResponse", 0, body)
    assert [(r.user, int(r.error_code), r.error_message) for r in response.results] == [
        ("bob", 31, "Not you."),
        ("eve", 31, "Not you."),
    ]
    body = scram_messages.description_error(0, why)
    told = messages.parse("DescribeUserScramCredentialsResponse", 0, body)
    assert (int(told.error_code), told.error_message, told.results) == (31, "Not you.", ())
    body = scram_messages.description_error(0, why, ["bob"])
    (bob,) = messages.parse("DescribeUserScramCredentialsResponse", 0, body).results
    assert (bob.user, int(bob.error_code), bob.credential_infos) == ("bob", 31, ())


USERS = st.sampled_from(["bob", "eve", "al/ice"])
CODES = st.sampled_from([SHA_256, SHA_512])


@given(st.lists(st.tuples(USERS, CODES, st.booleans()), max_size=6))
def test_every_user_is_answered_and_done_or_not_at_all(steps: list[tuple[str, int, bool]]) -> None:
    request = asked(
        *(upsertion(user, code) for user, code, made in steps if made),
        delete=tuple((user, code) for user, code, made in steps if not made),
    )
    alteration = scram_messages.alter(EMPTY, request)
    assert set(alteration.answers) == {user for user, _, _ in steps}
    now = EMPTY.apply(alteration.changes, 1)
    for user, why in alteration.answers.items():
        mine = [(code, made) for who, code, made in steps if who == user]
        fine = all(made for _, made in mine) and len(set(mine)) == len(mine)
        assert (why is None) is fine
        held = {code for code, one in MECHANISMS.items() if (one.name, user) in now.scram}
        assert held == ({code for code, _ in mine} if fine else set())
