"""What an unknown user is shown: the like of what known ones are, and always the same."""

from __future__ import annotations

import random
import string

from gateway.auth.passwords import DEFAULT_ITERATIONS, UnknownUsers
from gateway.catalog.entities import ScramCredential

MECHANISM = "SCRAM-SHA-256"


def known(
    count: int, *, words: bool = True, iterations: int = 8_192
) -> dict[tuple[str, str], ScramCredential]:
    source = random.Random(count)  # the same salts each time
    made = {}
    for number in range(count):
        salt = source.randbytes(20) + b"\xff"
        if words:
            salt = "".join(source.choices(string.ascii_lowercase, k=26)).encode()
        keys = source.randbytes(32), source.randbytes(32)
        user = f"user-{number}"
        made[MECHANISM, user] = ScramCredential(user, MECHANISM, iterations, salt, *keys)
    return made


def shown(of: ScramCredential) -> tuple[int, bytes]:
    return of.iterations, of.salt


def test_it_looks_like_a_known_one() -> None:
    word = UnknownUsers().credential(known(5), MECHANISM, "nobody")
    assert (word.iterations, len(word.salt)) == (8_192, 26)
    assert word.salt.isalnum()
    raw = UnknownUsers().credential(known(5, words=False, iterations=4_096), MECHANISM, "nobody")
    assert (raw.iterations, len(raw.salt)) == (4_096, 21)
    assert len(raw.stored_key) == len(raw.server_key) == 32


def test_every_worker_shows_the_same() -> None:
    catalog = known(20)
    for number in range(50):
        one, other = (
            UnknownUsers().credential(dict(catalog), MECHANISM, f"nobody-{number}")
            for _ in range(2)
        )
        assert shown(one) == shown(other)
        assert one.stored_key != other.stored_key  # no proof fits either


def test_two_unknown_users_differ() -> None:
    users = UnknownUsers()
    salts = {users.credential(known(3), MECHANISM, f"nobody-{n}").salt for n in range(50)}
    assert len(salts) == 50


def test_a_change_elsewhere_mostly_changes_nothing() -> None:
    """A salt that changes although nobody set a password would tell."""
    before, after = known(100), known(100)
    del after[MECHANISM, "user-7"]
    users = UnknownUsers()
    changed = sum(
        shown(users.credential(before, MECHANISM, f"nobody-{number}"))
        != shown(users.credential(after, MECHANISM, f"nobody-{number}"))
        for number in range(200)
    )
    assert changed < 20


def test_the_mix_is_that_of_known_users() -> None:
    few = {key: value for key, value in known(10, iterations=4_096).items()}
    many = {(m, f"b-{u}"): c for (m, u), c in known(90, iterations=16_384).items()}
    users = UnknownUsers()
    catalog = few | many
    counts = [
        users.credential(catalog, MECHANISM, f"nobody-{number}").iterations for number in range(500)
    ]
    assert set(counts) == {4_096, 16_384}
    assert counts.count(16_384) > 300


def test_without_any_user() -> None:
    users = UnknownUsers()
    one, again = (users.credential({}, "SCRAM-SHA-512", "nobody") for _ in range(2))
    assert one.iterations == DEFAULT_ITERATIONS
    assert shown(one) == shown(again)
    assert len(one.stored_key) == 64


def test_credentials_of_other_mechanisms_do_not_count() -> None:
    users = UnknownUsers()
    assert users.credential(known(5), "SCRAM-SHA-512", "x").iterations == DEFAULT_ITERATIONS
