"""gateway.page.sums, gateway.page.observed: a worker's report of a second, bounded and whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pytest

from gateway.flows import Flow
from gateway.mounts import Mount, Mounts
from gateway.page.observed import MAX_TEXT, Latency, Observed, Traffic, TrafficKey
from gateway.page.sums import FlowsOfSecond
from gateway.places import Place
from tests.gateway.flow_samples import buckets, flow, source

JAVA = {"software_name": "apache-kafka-java", "software_version": "4.1.0"}


def summed(flows: Sequence[Flow]) -> FlowsOfSecond:
    """The sums of flows that came in two pieces."""
    made = FlowsOfSecond()
    for part in (flows[:3], flows[3:]):
        made.add(part)
    return made


def totals(rows: Iterable[tuple[TrafficKey, Traffic]]) -> Traffic:
    total = Traffic()
    for _, traffic in rows:
        total = total.plus(traffic)
    return total


def many(count: int, topics: int) -> list[Flow]:
    """Clients with a topic each, in as many namespaces as there are topics."""
    return [
        flow(
            source(client_id=f"c{number}"),
            topic=f"n{number % topics}:t",
            led=1,
            bytes_in=number,
            bytes_out=2 * number,
            records=3,
            records_out=4,
            errors={3: 5},
            denials={"acl": 6},
        )
        for number in range(count)
    ]


def test_versions_and_apis_of_a_client_and_topic_are_one_row() -> None:
    client = source(principal="User:a", **JAVA)
    rows = summed(
        [
            flow(client, version=9, led=2, bytes_in=10, records=7, errors={3: 1}),
            flow(client, version=12, led=1, followed=1, bytes_in=5, denials={"acl": 2}),
            flow(client, api_key=1, led=1, bytes_out=100, records_out=9),
            flow(client, api_key=3, topic="", led=1, bytes_in=1),
        ]
    ).traffic()
    key = TrafficKey(
        "main", "team-a", "orders", "colon", "User:a", "app", "apache-kafka-java 4.1.0"
    )
    assert dict(rows) == {
        key: Traffic(5, 15, 100, 7, 9, 1, 2),
        key._replace(namespace=None, topic=""): Traffic(requests=1, bytes_in=1),
    }
    assert [one.requests for _, one in rows] == [5, 1]  # the busiest first


def test_beyond_the_bound_no_count_is_lost() -> None:
    flows = many(50, 7)
    rows = summed(flows).traffic(10)
    assert totals(rows) == totals(summed(flows).traffic(1_000))
    kept, folded = rows[:10], rows[10:]
    assert [key.client_id for key, _ in kept] == [f"c{n}" for n in range(49, 39, -1)]
    assert {key.namespace for key, _ in folded} == {f"n{n}" for n in range(7)}
    assert {key.client_id for key, _ in folded} == {"(other)"}


def test_namespaces_are_bounded_too() -> None:
    flows = many(100, 100)
    rows = summed(flows).traffic(10)
    assert len(rows) == 20
    assert totals(rows) == totals(summed(flows).traffic(1_000))
    assert rows[-1][0] == TrafficKey(*["(other)"] * 7)


def test_names_in_a_tree_are_absolute() -> None:
    mounts = Mounts([Mount("la:tracking", 1, "la")])
    place = Place("la", "la:tracking", mounts)
    (row,) = summed([flow(source(place=place), topic="search:clicks", led=1)]).traffic()
    assert row[0][:3] == ("la", "la:tracking:search", "clicks")
    (row,) = summed([flow(source(place=place), topic="plain", led=1)]).traffic()
    assert row[0][:3] == ("la", "la:tracking", "plain")


def test_long_texts_are_cut() -> None:
    (row,) = summed([flow(source(client_id="x" * 5_000, principal="é" * 300), led=1)]).traffic()
    assert row[0].client_id == "x" * (MAX_TEXT - 1) + "…"
    assert row[0].principal == "é" * 300


def test_latency_is_of_requests_alone_that_lead() -> None:
    led = flow(led=2, gateway_us=buckets(b20=1, b24=1), broker_us=buckets(b44=2))
    more = flow(led=1, topic="x", gateway_us=buckets(b20=1), broker_us=buckets(b40=1))
    other = flow(api_key=1, led=1, gateway_us=buckets(b9=1), broker_us=buckets(b8=1))
    followed = flow(topic="y", followed=1, bytes_in=3)
    assert summed([led, more, other, followed]).latency() == {
        0: Latency({20: 2, 24: 1}, {44: 2, 40: 1}),
        1: Latency({9: 1}, {8: 1}),
    }


def made(rows: int) -> Observed:
    flows = many(rows, 5)
    item = {"message": "é" * 300, "time": 1}
    sums = summed(flows)
    latency = {0: Latency({3: 4}, {5: 6})}
    return Observed(1.02, sums.traffic(), latency, [item], [item, item], [{"name": "main"}], "pure")


def test_through_json() -> None:
    observed = made(10)
    assert Observed.from_json(json.loads(json.dumps(observed.to_json()))) == observed
    bare = Observed(1.0)
    assert Observed.from_json(json.loads(json.dumps(bare.to_json()))) == bare


@pytest.mark.parametrize("key", ["seconds", "traffic", "latency", "denials", "logins", "form"])
def test_what_is_none_is_rejected(key: str) -> None:
    content = made(3).to_json()
    del content[key]
    with pytest.raises(ValueError, match="that is none"):
        Observed.from_json(content)
    if key != "form":
        with pytest.raises(ValueError):
            Observed.from_json({**content, key: [[1]]})


def test_halving_ends() -> None:
    observed, sizes = made(100), []
    while observed.traffic or observed.denials or observed.logins:
        sizes.append(len(observed.traffic))
        observed = observed.halved()
    assert sizes == [100, 50, 25, 12, 6, 3, 1]
    assert observed.clusters is not None
    assert observed.halved() == Observed(1.02, form="pure")
