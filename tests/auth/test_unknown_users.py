"""The parameters that an unknown user gets: like those of known users, and always the same."""

from __future__ import annotations

import hashlib
import random
import string
import time
from dataclasses import replace

import pytest

from gateway.auth.unknown_users import DEFAULT_ITERATIONS, STEP_SECONDS, UnknownUsers
from gateway.catalog.entities import ScramCredential
from tests.pace import Pace

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
    """If a salt changed although no password was set, it would reveal the user."""
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


def place_by_place(catalog: dict[tuple[str, str], ScramCredential], user: str) -> ScramCredential:
    """The known credential that an unknown user imitates, found in the simplest way."""

    def place(name: str) -> bytes:
        return hashlib.sha256(f"{MECHANISM}/{name}".encode()).digest()

    ring = sorted(catalog.values(), key=lambda one: place(one.user))
    return next((one for one in ring if place(one.user) > place(user)), ring[0])


@pytest.mark.parametrize("count", [1, 2, 7, 2_000])
def test_the_next_on_the_ring_is_taken_after(count: int) -> None:
    catalog = {
        key: replace(credential, iterations=4_096 + number)
        for number, (key, credential) in enumerate(known(count).items())
    }
    users = UnknownUsers()
    users.catch_up(catalog)
    for number in range(100):
        found = users.credential(catalog, MECHANISM, f"nobody-{number}").iterations
        assert found == place_by_place(catalog, f"nobody-{number}").iterations


@pytest.mark.alone
def test_many_credentials_that_are_replaced_are_followed_in_steps(pace: Pace) -> None:
    """No login waits for all of them; until they are followed, the former credentials are
    imitated."""
    before, after = known(50_000, iterations=4_096), known(50_000, iterations=16_384)
    users = UnknownUsers()
    users.catch_up(before)
    steps, longest, iterations = 0, 0.0, 4_096
    while iterations == 4_096:
        began = time.thread_time()
        iterations = users.credential(after, MECHANISM, "nobody").iterations
        longest = max(longest, time.thread_time() - began)
        steps += 1
    assert iterations == 16_384
    assert steps > 5
    assert longest < pace.stretched(5 * STEP_SECONDS)


def test_credentials_that_change_all_the_time_are_followed() -> None:
    """A ring that was begun is finished, even if there are newer credentials by then."""
    users = UnknownUsers()
    users.catch_up(known(1, iterations=4_096))
    first, newer = (known(20_000, iterations=count) for count in (8_192, 16_384))
    users.follow(first, 0.0)
    for _ in range(200):
        users.follow(dict(newer), 0.0)
        if users.credential(dict(newer), MECHANISM, "nobody").iterations != 4_096:
            return
    raise AssertionError("they are never followed")
