"""Subscriptions of client metrics: whom they concern, and what clients push."""

import dataclasses
from time import thread_time

import pytest

from gateway.client_metrics import (
    MAX_MATCHED,
    MAX_REQUEST_STEPS,
    Client,
    Requested,
    Steps,
    Subscription,
    requested,
)
from gateway.client_metrics_configs import ALL, check
from gateway.name_regex import NameRegex
from gateway.slices import SLICE_SECONDS, Slices

CLIENT = Client(bytes(16), "app-1", "apache-kafka-java", "4.3.1", "10.0.0.1", 50_000)


# -- which clients it concerns ---------------------------------------------------------------------


def concerned(configs: dict[str, str], client: Client = CLIENT) -> bool:
    """Whether a subscription with these configs concerns a client."""
    return Subscription("latencies", configs).matches(client, Steps())


@pytest.mark.parametrize(
    ("match", "concerns"),
    [
        ("", True),
        ("client_id=app-.*", True),
        ("client_id=app", False),  # the whole value
        ("client_id=app-1,client_software_name=librdkafka", False),  # every expression
        (" client_id = app-1 , client_software_name = apache-.* ", True),
        ("client_id=x,client_id=app-1", True),  # the last one counts
        ("client_software_version=4\\.3\\..*", True),
        ("client_source_address=10\\.0\\.0\\..*", True),
        ("client_source_port=50000", True),
        ("client_source_port=5", False),
        ("client_instance_id=AAAAAAAAAAAAAAAAAAAAAA", True),  # Uuid.toString of sixteen zeros
    ],
)
def test_whom_it_concerns(match: str, concerns: bool) -> None:
    configs = {"match": match} if match else {}
    check("latencies", configs)
    assert concerned(configs) is concerns


def test_no_expression_matches_what_a_client_does_not_say() -> None:
    nameless = dataclasses.replace(CLIENT, client_id=None)
    assert not concerned({"match": "client_id=.*"}, nameless)
    assert concerned({"match": "client_source_port=.*"}, nameless)


def test_no_expression_matches_a_very_long_value() -> None:
    for character in ("x", "\u20ac"):
        longest = MAX_MATCHED // len(character.encode())
        for length, matches in ((longest, True), (longest + 1, False)):
            client = dataclasses.replace(CLIENT, client_id=character * length)
            assert concerned({"match": "client_id=.*"}, client) is matches
            assert concerned({}, client)


# -- what matching may take ------------------------------------------------------------------------

DEAR = "(?:[ab]*a){160}a*"
HEAVY = {
    "metrics": "*",
    "match": f"client_id={DEAR},client_software_name={DEAR},client_software_version={DEAR}",
}
LONG = "a" * MAX_MATCHED
LONG_NAMED = Client(bytes(16), LONG, LONG, LONG, "10.0.0.1", 50_000)


def test_no_turn_of_matching_takes_long() -> None:
    """Three expressions of 490 groups took 60 ms of one turn, and 20 subscriptions seconds."""
    check("heavy", HEAVY)
    subscriptions = [Subscription(f"team-a:{number}", HEAVY) for number in range(200)]

    def turns(client: Client) -> list[float]:
        taken, slices = list[float](), Slices(lambda: requested(subscriptions, client))
        while not slices.done:
            began = thread_time()
            slices.step()
            taken.append(thread_time() - began)
        assert slices.result().metrics == (ALL,)
        return taken

    turns(LONG_NAMED)  # the expressions are compiled in turns, too
    times = [turns(LONG_NAMED) for _ in range(3)]
    assert min(map(max, times)) < 2.5 * SLICE_SECONDS
    assert min(map(sum, times)) < 1.0, "measured: 0.1"


def test_the_matches_of_a_request_are_bounded() -> None:
    cost = 3 * MAX_MATCHED * NameRegex(DEAR).instructions
    assert MAX_REQUEST_STEPS // 100 < cost < MAX_REQUEST_STEPS // 10
    fit = MAX_REQUEST_STEPS // cost
    cheap = Subscription("x", {"match": "client_source_port=.*"})
    for further in (0, 1, 9):
        steps = Steps()
        found = [Subscription(str(each), HEAVY) for each in range(fit + further)]
        matched = [one.matches(LONG_NAMED, steps) for one in found]
        assert matched == [True] * fit + [False] * further
        # Not what costs less either: else it would depend on more than the order.
        assert cheap.matches(LONG_NAMED, steps) is (further == 0)
        assert Subscription("y", {}).matches(LONG_NAMED, steps), "it is for all clients"


def test_many_ordinary_subscriptions_are_far_from_the_bound() -> None:
    match = "client_id=billing-.*-app,client_software_name=apache-kafka-.*,client_source_port=.*"
    client = dataclasses.replace(CLIENT, client_id="billing-department-of-europe-app")
    steps = Steps()
    assert all(
        Subscription(str(number), {"match": match}).matches(client, steps) for number in range(200)
    )
    assert steps.left > MAX_REQUEST_STEPS * 3 / 4


@pytest.mark.parametrize(
    "configs", [{"match": "client_id=("}, {"interval.ms": "soon"}, {"match": "="}]
)
def test_a_damaged_one_concerns_no_client(configs: dict[str, str]) -> None:
    assert not concerned({"metrics": ALL, **configs})


# -- what a client is asked for --------------------------------------------------------------------


def asked(*configs: dict[str, str], client: Client = CLIENT) -> Requested:
    return requested([Subscription(str(number), one) for number, one in enumerate(configs)], client)


def test_prefixes_are_put_together() -> None:
    found = asked({"metrics": "b.,a."}, {"metrics": "a.,c.", "interval.ms": "9000"}, {})
    assert (found.metrics, found.interval_ms) == (("a.", "b.", "c."), 9000)
    assert [found.keeps(name) for name in ("a.x", "c.", "d.x", "")] == [True, True, False, False]


def test_all_metrics_cover_every_prefix() -> None:
    found = asked({"metrics": "a."}, {"metrics": "b.,*"})
    assert found.metrics == (ALL,)
    assert found.keeps("org.apache.kafka.producer.connection.count")


def test_nothing_is_asked_of_whom_no_subscription_matches() -> None:
    found = asked({"metrics": "*", "match": "client_id=other", "interval.ms": "100"})
    assert (found.metrics, found.interval_ms) == ((), 300_000)
    assert not found.keeps("a")


def test_the_interval_is_never_longer_than_the_default() -> None:
    # As ClientMetricsManager, which begins with the default.
    assert asked({"metrics": "a.", "interval.ms": "3600000"}).interval_ms == 300_000


def test_the_id_is_a_brokers() -> None:
    # A broker 4.3.1 computes CRC-32C of the prefixes' text and the interval, by exclusive or with
    # the hash of the instance id, which is 0 for sixteen zeros: "[*]1000" and "[]300000".
    assert asked({"metrics": "*", "interval.ms": "1000"}).subscription_id == _crc32c(b"[*]1000")
    assert asked().subscription_id == _crc32c(b"[]300000")
    one = dataclasses.replace(
        CLIENT, instance_id=(5).to_bytes(8, "big") + (2**35).to_bytes(8, "big")
    )
    assert asked(client=one).subscription_id == _crc32c(b"[]300000") ^ 5 ^ 8


def test_the_id_follows_from_what_is_asked_alone() -> None:
    first = asked({"metrics": "a.,b.", "interval.ms": "500"})
    assert first == asked({"metrics": "b."}, {"metrics": "a.", "interval.ms": "500"})
    others = [
        asked({"metrics": "a.,b.", "interval.ms": "501"}),
        asked({"metrics": "a.", "interval.ms": "500"}),
        asked({"metrics": "a.,b.", "interval.ms": "500"}, client=_other(CLIENT)),
    ]
    assert len({first.subscription_id, *(one.subscription_id for one in others)}) == 4


def _other(client: Client) -> Client:
    return dataclasses.replace(client, instance_id=bytes(15) + b"\x01")


def _crc32c(content: bytes) -> int:
    """CRC-32C bit by bit, as an int32 (RFC 3720, B.4)."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return crc - 2**32 if crc >= 2**31 else crc
