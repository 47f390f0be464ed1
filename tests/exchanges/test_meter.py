"""gateway.exchanges.meter: the counts of a finished exchange, and the buckets of its times."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from gateway.apis.table import any_plan
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.meter import count_exchanges
from gateway.flows import LATENCY_BUCKETS, LATENCY_STEPS, Flow
from tests.gateway.flow_samples import flow

NOW = 1000.0
LAST = LATENCY_BUCKETS - 1
LAST_US = 2.0**24


def exchange(counted: Flow, broker_us: float = 0.0, gateway_us: float = 0.0) -> Exchange:
    """An exchange that took this long, and has just been answered at :data:`NOW`."""
    made = Exchange(any_plan(), 1, NOW - (broker_us + gateway_us) / 1e6, 100)
    made.flow = counted
    made.sent, made.answered = NOW - broker_us / 1e6, NOW
    return made


def numbers(buckets: Iterable[int]) -> list[int]:
    """The buckets with a count."""
    return [number for number, count in enumerate(buckets) if count]


@given(us=st.floats(1.0, LAST_US * 0.999))
def test_a_time_is_in_the_bucket_whose_bounds_it_is_between(us: float) -> None:
    counted = flow()
    made = exchange(counted, broker_us=us)
    count_exchanges([made], NOW)
    # The measured time includes the rounding of the clock's seconds.
    measured = (made.answered - made.sent) * 1e6
    (number,) = numbers(counted.broker_us)
    assert 2 ** ((number - 1) / LATENCY_STEPS) <= measured * (1 + 1e-9)
    assert measured * (1 - 1e-9) < 2 ** (number / LATENCY_STEPS)
    assert (counted.led, counted.requests, sum(counted.gateway_us)) == (1, 1, 1)


def test_the_first_and_the_last_bucket() -> None:
    counted = flow()
    taken = (0.1, 0.4, 2 * LAST_US, 3600e6)
    count_exchanges([exchange(counted, us) for us in taken], NOW)
    assert {n: counted.broker_us[n] for n in numbers(counted.broker_us)} == {0: 2, LAST: 2}
    assert sum(counted.gateway_us) == len(taken)
    assert len(counted.broker_us) == LATENCY_BUCKETS


def test_what_one_side_has_no_room_for_yet_counts_once_on_both() -> None:
    for broker_us, gateway_us in ((5e6, 10.0), (10.0, 5e6), (5e6, 6e6), (5e6, 5e6)):
        counted = flow()
        count_exchanges([exchange(counted, broker_us, gateway_us) for _ in range(3)], NOW)
        assert numbers(counted.broker_us) == [bucket_of(broker_us)]
        assert numbers(counted.gateway_us) == [bucket_of(gateway_us)]
        assert sum(counted.broker_us) == sum(counted.gateway_us) == counted.led == 3


def test_a_flow_begins_with_fewer_buckets_than_there_are() -> None:
    """Zeros for all buckets would cost more than a flow of a few requests."""
    counted = flow()
    count_exchanges([exchange(counted, 1000.0, 100.0)], NOW)
    assert len(counted.broker_us) + len(counted.gateway_us) < LATENCY_BUCKETS
    taken = counted.moved()
    assert (sum(taken.broker_us), sum(counted.broker_us)) == (1, 0)


def test_topics_that_follow_are_no_requests_of_their_own() -> None:
    lead, other = flow(), flow(topic="team-a:others")
    made = exchange(lead)
    made.others = [other]
    count_exchanges([made], NOW)
    assert (lead.led, lead.followed, lead.requests) == (1, 0, 1)
    assert (other.led, other.followed, other.requests) == (0, 1, 1)
    assert not other.empty


def test_one_batch_counts_with_its_facts() -> None:
    counted = flow()
    made = exchange(counted)
    made.facts = (7, True, False)
    count_exchanges([made], NOW)
    assert (counted.batches, counted.records, counted.idempotent) == (1, 7, 1)
    assert (counted.transactional, counted.led, counted.bytes_in) == (0, 1, 100)


def test_what_no_broker_has_had_is_in_the_gateways_histogram_alone() -> None:
    counted = flow()
    for gateway_us in (3.0, 5e6):  # the second is beyond the end of the histogram
        made = exchange(counted, gateway_us=gateway_us)
        made.sent = made.answered = 0.0
        count_exchanges([made], NOW)
    assert numbers(counted.broker_us) == []
    assert numbers(counted.gateway_us) == [bucket_of(3.0), bucket_of(5e6)]
    assert counted.led == 2


def bucket_of(us: float) -> int:
    """By logarithms, and not by bit lengths."""
    return math.floor(LATENCY_STEPS * math.log2(us)) + 1
