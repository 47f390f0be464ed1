"""The checks of requests, in Kafka's order (ClientMetricsManager and its tests)."""

from __future__ import annotations

from gateway.client_metrics import Requested
from gateway.telemetry import instances
from gateway.telemetry.instances import InstanceKey, Instances, Owner, Push
from gateway.telemetry.limits import MAX_BYTES

OK, INVALID_REQUEST, UNSUPPORTED_COMPRESSION, THROTTLED, UNKNOWN, TOO_LARGE = (
    0,
    42,
    76,
    89,
    117,
    118,
)

OWNER = Owner("kafka", "team-a", "team-a", "User:alice")
KEY = InstanceKey(OWNER, b"1234567890abcdef")
TEN_SECONDS = Requested(("*",), 10_000, 7)
NOTHING = Requested((), 300_000, 8)


def push(
    subscription_id: int = 7, compression: int = 0, size: int = 10, terminating: bool = False
) -> Push:
    return Push(subscription_id, compression, size, terminating)


def test_a_subscription_is_requested_once_an_interval() -> None:
    known = Instances()
    codes = [known.get(KEY, TEN_SECONDS, now) for now in (0.0, 9.9, 10.0, 15.0, 20.0)]
    assert codes == [OK, THROTTLED, OK, THROTTLED, OK]


def test_a_push_may_follow_a_subscription_at_once() -> None:
    known = Instances()
    assert known.get(KEY, TEN_SECONDS, 0.0) == OK
    assert [known.push(KEY, TEN_SECONDS, push(), now) for now in (0.1, 5.0, 10.1)] == [
        OK,
        THROTTLED,
        OK,
    ]
    assert known.get(KEY, TEN_SECONDS, 15.0) == THROTTLED


def test_an_instance_of_another_gateway_may_push_at_once() -> None:
    assert Instances().push(KEY, TEN_SECONDS, push(), 0.0) == OK


def test_the_last_push_may_come_early_and_nothing_after_it() -> None:
    known = Instances()
    assert known.push(KEY, TEN_SECONDS, push(), 0.0) == OK
    assert known.push(KEY, TEN_SECONDS, push(terminating=True), 1.0) == OK
    assert known.push(KEY, TEN_SECONDS, push(), 20.0) == INVALID_REQUEST


def test_reserved_ids_are_rejected() -> None:
    for reserved in (bytes(16), bytes(15) + b"\x01"):
        key = InstanceKey(OWNER, reserved)
        assert Instances().push(key, TEN_SECONDS, push(), 0.0) == INVALID_REQUEST


def test_checks_have_kafkas_order() -> None:
    known = Instances()
    everything = push(6, 9, MAX_BYTES + 1)
    assert known.push(KEY, TEN_SECONDS, everything, 0.0) == UNKNOWN
    assert known.push(KEY, TEN_SECONDS, everything, 1.0) == THROTTLED
    assert known.push(KEY, TEN_SECONDS, push(7, 9, MAX_BYTES + 1), 10.0) == UNSUPPORTED_COMPRESSION
    assert known.push(KEY, TEN_SECONDS, push(7, 1, MAX_BYTES + 1), 20.0) == TOO_LARGE
    assert known.push(KEY, TEN_SECONDS, push(7, 1, MAX_BYTES), 30.0) == OK


def test_after_an_unknown_subscription_a_client_may_request_its_own_at_once() -> None:
    known = Instances()
    assert known.get(KEY, TEN_SECONDS, 0.0) == OK
    assert known.push(KEY, TEN_SECONDS, push(6), 1.0) == UNKNOWN
    assert known.get(KEY, TEN_SECONDS, 1.1) == OK
    assert known.get(KEY, TEN_SECONDS, 1.2) == THROTTLED
    # tests/live/oracle/test_client_telemetry.py has it from a broker.
    assert known.push(KEY, TEN_SECONDS, push(), 1.3) == THROTTLED
    assert known.push(KEY, TEN_SECONDS, push(), 11.0) == OK


def test_a_changed_subscription_begins_anew() -> None:
    known = Instances()
    assert known.push(KEY, TEN_SECONDS, push(), 0.0) == OK
    changed = Requested(("a.",), 10_000, 9)
    assert known.push(KEY, changed, push(7), 1.0) == UNKNOWN
    assert known.get(KEY, changed, 1.1) == OK
    assert known.push(KEY, changed, push(9), 11.0) == OK


def test_owners_have_nothing_in_common() -> None:
    known = Instances()
    other = InstanceKey(OWNER._replace(home="team-b"), KEY.instance_id)
    assert known.push(KEY, TEN_SECONDS, push(terminating=True), 0.0) == OK
    assert known.push(other, TEN_SECONDS, push(), 0.1) == OK


def test_nothing_is_remembered_where_nothing_is_requested() -> None:
    known = Instances()
    assert [known.get(KEY, NOTHING, 0.0) for _ in range(3)] == [OK] * 3
    assert known.push(KEY, NOTHING, push(8), 0.0) == OK
    assert known.push(KEY, NOTHING, push(7), 0.0) == UNKNOWN
    assert len(known) == 0
    known.get(KEY, TEN_SECONDS, 0.0)
    assert len(known) == 1
    known.get(KEY, NOTHING, 1.0)
    assert len(known) == 0


def test_silent_instances_are_forgotten_after_three_intervals_and_a_minute_at_least() -> None:
    known = Instances()
    slow, fast = InstanceKey(OWNER, b"s" * 16), InstanceKey(OWNER, b"f" * 16)
    known.get(fast, TEN_SECONDS, 0.0)
    known.get(slow, Requested(("*",), 100_000, 7), 0.0)
    known.forget(59.9)
    assert known.knows(fast)
    known.forget(60.0)
    assert not known.knows(fast)
    known.forget(299.9)
    assert known.knows(slow)
    known.forget(300.0)
    assert len(known) == 0


def test_the_number_of_instances_is_bounded() -> None:
    known = Instances()
    for number in range(instances.MAX_INSTANCES + 100):
        known.get(InstanceKey(OWNER, number.to_bytes(16, "big")), TEN_SECONDS, 0.0)
    assert len(known) == instances.MAX_INSTANCES
    assert known.knows(InstanceKey(OWNER, number.to_bytes(16, "big")))


def test_instances_of_one_tenant_do_not_let_those_of_another_be_forgotten() -> None:
    known = Instances()
    other = InstanceKey(OWNER._replace(principal="User:bob"), KEY.instance_id)
    known.get(other, TEN_SECONDS, 0.0)
    for number in range(instances.MAX_INSTANCES + 100):
        known.get(InstanceKey(OWNER, number.to_bytes(16, "big")), TEN_SECONDS, 0.0)
    assert known.get(other, TEN_SECONDS, 1.0) == THROTTLED
