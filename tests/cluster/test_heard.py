"""Which brokers named in responses are worth a listing."""

from __future__ import annotations

from gateway.cluster.heard import MOST_FRUITLESS, MOST_HEARD, HeardBrokers

SILENCE = 5.0
THERE, ELSEWHERE = ("a.example", 9092), ("b.example", 9092)


def test_what_a_listing_confirms_is_heard_again() -> None:
    heard = HeardBrokers(SILENCE)
    assert heard.hear(1, THERE, 0.0)
    assert heard.waiting(1) == THERE
    heard.compare(heard.take(), {1: THERE})
    assert heard.waiting(1) is None
    assert heard.named_at(1) is None
    assert heard.hear(1, ELSEWHERE, 0.1)


def test_what_a_listing_contradicts_is_silent_for_a_while() -> None:
    heard = HeardBrokers(SILENCE)
    assert heard.hear(1, THERE, 0.0)
    heard.compare(heard.take(), {1: ELSEWHERE})
    assert not heard.hear(1, THERE, 0.1)
    assert heard.named_at(1) == 0.0
    assert not heard.hear(1, ("c.example", 9092), SILENCE - 0.1)
    assert heard.hear(2, THERE, SILENCE - 0.1)
    assert heard.hear(1, THERE, SILENCE)


def test_what_is_named_while_the_listing_is_made_waits_for_the_next() -> None:
    heard = HeardBrokers(SILENCE)
    named = heard.take()
    assert heard.hear(1, THERE, 0.0)
    heard.compare(named, {})
    assert heard.waiting(1) == THERE
    assert heard.hear(1, THERE, 0.1)


def test_a_listing_that_confirms_ends_the_silence() -> None:
    heard = HeardBrokers(SILENCE)
    assert heard.hear(1, THERE, 0.0)
    named = heard.take()
    assert heard.hear(1, THERE, 0.1)
    heard.compare(named, {})
    heard.compare(heard.take(), {1: THERE})
    assert heard.hear(1, ELSEWHERE, 0.2)


def test_one_that_always_names_new_brokers_costs_few_listings() -> None:
    heard = HeardBrokers(SILENCE)
    listings = 0
    for node_id in range(1000):
        now = node_id * SILENCE / 1000
        if heard.hear(node_id, THERE, now):
            listings += 1
            heard.compare(heard.take(), {})
    assert listings == MOST_FRUITLESS


def test_brokers_that_no_listing_has_do_not_hide_a_new_broker() -> None:
    """A client that connects to the new broker waits for a listing (``waiting``)."""
    heard = HeardBrokers(SILENCE)
    for node_id in range(1000):
        heard.hear(node_id, ELSEWHERE, node_id / 1000)
        heard.compare(heard.take(), {})
    assert not heard.hear(2000, THERE, 1.0)
    assert heard.waiting(2000) == THERE
    assert not heard.hear(0, THERE, 1.0)
    assert heard.waiting(0) == THERE
    heard.compare(heard.take(), {0: THERE, 2000: THERE})
    assert heard.hear(3000, THERE, SILENCE + 1.0)


def test_many_brokers_that_one_listing_lacks_cost_no_more_than_one() -> None:
    """DescribeCluster v2 names all brokers that are fenced."""
    heard = HeardBrokers(SILENCE)
    for node_id in range(2 * MOST_FRUITLESS):
        assert heard.hear(node_id, ELSEWHERE, 0.0)
    heard.compare(heard.take(), {})
    for node_id in range(2 * MOST_FRUITLESS):
        assert not heard.hear(node_id, ELSEWHERE, 1.0)
    assert heard.hear(2000, THERE, 1.0)


def test_an_answer_that_names_many_is_kept_in_part() -> None:
    """The brokers that were named the longest ago go first."""
    heard = HeardBrokers(SILENCE)
    for node_id in range(2 * MOST_HEARD):
        heard.hear(node_id, THERE, 0.0)
        heard.hear(0, THERE, 0.0)
    named = heard.take()
    assert set(named) == {0, *range(MOST_HEARD + 1, 2 * MOST_HEARD)}
    heard.compare(named, {})
    heard.hear(5000, THERE, 0.1)
    heard.compare(heard.take(), {})
    assert not heard.hear(5000, THERE, 0.2)
