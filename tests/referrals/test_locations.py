from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.referrals.locations import NOBODY, Location, Locations

NY = Location("ny", 7, "top")
LA = Location("la", 8, "child")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def locations(clock: Clock) -> Locations:
    return Locations(expiry_seconds=30, unknown_seconds=5, clock=clock, limit=3)


def test_a_path_that_was_noted_is_found_until_it_expires(
    locations: Locations, clock: Clock
) -> None:
    assert locations.find("ny:x") is None
    locations.note("ny:x", NY)
    assert locations.find("ny:x") == NY
    assert locations.find("ny") is None
    assert locations.find("ny:x:y") is None
    clock.now += 29.9
    assert locations.find("ny:x") == NY
    clock.now += 0.1
    assert locations.find("ny:x") is None
    assert len(locations) == 0


def test_that_nobody_has_a_path_is_remembered_for_its_own_time(
    locations: Locations, clock: Clock
) -> None:
    locations.note_nobody("tokyo")
    assert locations.find("tokyo") is NOBODY
    clock.now += 4.9
    assert locations.find("tokyo") is NOBODY
    clock.now += 0.1
    assert locations.find("tokyo") is None
    assert len(locations) == 0


def test_what_was_noted_last_counts_and_for_its_whole_time(
    locations: Locations, clock: Clock
) -> None:
    locations.note("ny", NY)
    clock.now += 20
    locations.note("ny", LA)
    clock.now += 20
    assert locations.find("ny") == LA
    locations.note_nobody("ny")
    assert locations.find("ny") is NOBODY
    locations.note("ny", NY)
    assert locations.find("ny") == NY
    clock.now += 10
    assert locations.find("ny") == NY
    assert len(locations) == 1


def test_a_path_is_forgotten(locations: Locations) -> None:
    locations.note("ny", NY)
    locations.note_nobody("tokyo")
    for path in ("ny", "tokyo", "never-noted"):
        locations.forget(path)
        assert locations.find(path) is None
    assert len(locations) == 0


def test_the_oldest_location_goes_when_there_are_too_many(locations: Locations) -> None:
    for path in ("a", "b", "c"):
        locations.note(path, NY)
    locations.note("a", LA)
    locations.note("d", NY)
    assert [locations.find(path) for path in "abcd"] == [LA, None, NY, NY]


def test_names_that_nobody_has_do_not_displace_locations(locations: Locations) -> None:
    locations.note("ny", NY)
    for number in range(1_000):
        locations.note_nobody(f"junk{number}")
        assert len(locations) <= 4
    assert locations.find("ny") == NY
    assert locations.find("junk996") is None
    assert locations.find("junk997") is locations.find("junk999") is NOBODY


@given(
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from(["note", "nobody", "forget", "wait"]), st.sampled_from("abcdef"))
    ),
)
def test_it_is_bounded_and_finds_nothing_but_what_was_noted_last(
    limit: int, steps: list[tuple[str, str]]
) -> None:
    clock = Clock()
    locations = Locations(expiry_seconds=7, unknown_seconds=3, clock=clock, limit=limit)
    noted: dict[str, tuple[float, Location]] = {}
    for number, (step, path) in enumerate(steps):
        if step == "note":
            location = Location(path, number, "peer")
            locations.note(path, location)
            noted[path] = clock.now + 7, location
        elif step == "nobody":
            locations.note_nobody(path)
            noted[path] = clock.now + 3, NOBODY
        elif step == "forget":
            locations.forget(path)
            noted.pop(path, None)
        else:
            clock.now += 1
        assert len(locations) <= 2 * limit
        if step in ("note", "nobody"):
            assert locations.find(path) == noted[path][1]
        for each in "abcdef":
            found = locations.find(each)
            if found is not None:
                until, location = noted[each]
                assert clock.now < until
                assert found == location


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["note", "nobody"])
def test_a_hit_takes_a_microsecond(kind: str) -> None:
    """Bounded at three, in CPU time, because other processes take caches and turbo away."""
    locations = Locations(expiry_seconds=3_600, unknown_seconds=3_600)
    paths = [f"la:tracking:team-{number}" for number in range(10_000)]
    for path in paths:
        if kind == "note":
            locations.note(path, LA)
        else:
            locations.note_nobody(path)
    found = None
    took = []
    for _ in range(5):
        began = thread_time()
        for path in paths * 2:
            found = locations.find(path)
        took.append(thread_time() - began)
    assert found == (LA if kind == "note" else NOBODY)
    assert min(took) < 20_000 * 3e-6
