"""What a worker keeps of pushes: bounds, shares, and when it goes."""

from __future__ import annotations

import sys

import pytest

from gateway.telemetry.instances import InstanceKey, Owner
from gateway.telemetry.limits import UNIT_BYTES
from gateway.telemetry.series import Gathered
from gateway.telemetry.store import LAST_SECONDS, Kept, Store


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def kept(
    number: int,
    home: str = "team-a",
    principal: str = "User:a",
    *,
    at: float = 0.0,
    units: int = 1,
    listener: str = "all",
) -> Kept:
    key = InstanceKey(Owner("kafka", listener, home, principal), number.to_bytes(16, "big"))
    text = b" " * ((units - 1) * UNIT_BYTES)
    return Kept(key, {"client_id": str(number)}, {"g:x": text}, at, at + 100)


def numbers(store: Store) -> list[tuple[str, int]]:
    return sorted(
        (one.key.owner.home, int.from_bytes(one.key.instance_id, "big")) for one in store.tell()
    )


def dropped(store: Store) -> dict[str, int]:
    rows = store.take_rows()
    assert all(family == "client_telemetry_dropped" for family, _, _ in rows)
    return {str(labels[0]): count for _, labels, count in rows if isinstance(count, int)}


def test_the_newest_push_of_a_client_counts() -> None:
    store = Store(3, Clock())
    store.put(kept(1, at=1.0))
    store.put(kept(1, at=2.0))
    assert [one.pushed_at for one in store.tell()] == [2.0]
    assert len(store) == 1


def test_equal_ids_of_two_tenants_are_two_clients() -> None:
    store = Store(9, Clock())
    store.put(kept(1))
    store.put(kept(1, "team-b"))
    store.put(kept(1, "team-b", "User:b"))
    store.put(kept(1, "team-b", "User:b", listener="other"))
    assert len(store.tell()) == 4


def test_one_tenant_may_have_all_until_another_one_comes() -> None:
    store = Store(4, Clock())
    for number in range(6):
        store.put(kept(number, at=float(number)))
    assert numbers(store) == [("team-a", number) for number in range(4)]
    assert dropped(store) == {"clients": 2}
    for number in range(4):
        store.put(kept(number, "team-b", at=10.0 + number))
    # Half of the room each; of the first tenant those that have pushed last.
    assert numbers(store) == [("team-a", 2), ("team-a", 3), ("team-b", 0), ("team-b", 1)]
    assert dropped(store) == {"clients": 4}


def test_clients_do_not_push_out_each_other_in_turns() -> None:
    store = Store(3, Clock())
    for at in range(3):
        for home in ("a", "b"):
            for number in range(3):
                store.put(kept(number, home, at=float(at)))
    before = numbers(store)
    for home in ("a", "b"):
        for number in range(3):
            store.put(kept(number, home, at=9.0))
    assert numbers(store) == before


def test_principals_of_one_home_share_it_alike() -> None:
    store = Store(4, Clock())
    for number in range(4):
        store.put(kept(number, at=float(number)))
    for number in range(4, 8):
        store.put(kept(number, principal="User:b", at=float(number)))
    assert [number for _, number in numbers(store)] == [2, 3, 4, 5]


def test_a_client_with_much_counts_several_times() -> None:
    store = Store(4, Clock())
    store.put(kept(1, units=3))
    store.put(kept(2))
    store.put(kept(3))
    assert [number for _, number in numbers(store)] == [1, 2]
    store.put(kept(1))
    store.put(kept(3))
    store.put(kept(4))
    assert len(store) == 4
    assert len(Store(1, Clock()).tell()) == 0


@pytest.mark.parametrize("rare", ["", "\u00e9", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("name", ["g", "g" * 249])
def test_units_bound_the_memory_whatever_the_characters_and_names(rare: str, name: str) -> None:
    found = Gathered(1_000)
    for number in range(1_000):
        found.add(f"{name}{number}", (("a", "a" * 20),), 1.0, monotonic_sum=False)
        found.add("labels", (("a", f"{number}" + "a" * 120 + rare),), 1.0, monotonic_sum=False)
    families = found.written()
    key = InstanceKey(Owner("kafka", "all", "team-a", "User:a"), bytes(16))
    units = Kept(key, {}, families, 0.0, 1.0).units
    objects = (families, *families, *families.values())
    taken = sum(map(sys.getsizeof, objects))
    assert (units - 1) * UNIT_BYTES <= taken * 1.1
    assert taken <= units * UNIT_BYTES


def test_what_is_larger_than_everything_is_not_kept() -> None:
    store = Store(2, Clock())
    store.put(kept(1, "team-b"))
    store.put(kept(2, units=3))
    assert ("team-a", 2) not in numbers(store)


def test_a_silent_client_goes() -> None:
    clock = Clock()
    store = Store(3, clock)
    store.put(kept(1))
    store.put(kept(2, at=50.0))
    store.expire(99.0)
    assert len(store) == 2
    clock.now = 100.0
    assert [number for _, number in numbers(store)] == [2]
    store.expire(200.0)
    assert len(store) == 0


def test_the_last_push_is_told_once() -> None:
    store = Store(3, Clock())
    store.put(kept(1))
    store.end(kept(1).key)
    assert numbers(store) == [("team-a", 1)]
    assert numbers(store) == []


def test_the_last_push_goes_soon_if_nobody_reads_it() -> None:
    store = Store(3, Clock())
    store.put(kept(1))
    store.end(kept(1).key)
    store.expire(LAST_SECONDS)
    assert len(store) == 0


def test_counts_of_shares_are_exact_after_any_sequence() -> None:
    store = Store(5, Clock())
    for step in range(500):
        home, number = f"h{step % 7 % 3}", step * 7 % 11
        one = kept(number, home, f"User:{step % 2}", at=float(step), units=1 + step % 3)
        if step % 5 == 4:
            store.remove(one.key)
        else:
            store.put(one)
        units = sum(each.units for each in store.tell())
        assert units <= 5
        assert store.units == units
