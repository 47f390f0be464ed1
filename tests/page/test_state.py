"""gateway.page.window, gateway.page.state: from the reports of workers to the state of the page."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.page import state as state_module
from gateway.page.history import ErrorKey
from gateway.page.observed import Latency, Observed, Traffic, TrafficKey
from gateway.page.quantiles import quantile
from gateway.page.state import Facts, WorkerFacts, build_state
from gateway.page.window import SMOOTHED, Rates, Window
from tests.config import config_samples
from tests.page.samples import SampleGateway

FACTS = Facts("1.2.3", 1, 2)
FACTS_OF = partial(Facts, "1.2.3", 1, 2)
PRODUCE, FETCH = 0, 1


def key(client: str = "app", namespace: str | None = "team-a", topic: str = "t") -> TrafficKey:
    return TrafficKey("main", namespace, topic, "colon", "User:a", client, "")


def observed(requests: int, seconds: float = 1.0, **values: Any) -> Observed:
    return Observed(seconds, [(key(), Traffic(requests, 10 * requests))], **values)


def built(directory: Path, window: Window, facts: Facts = FACTS) -> dict[str, Any]:
    made = build_state(config_samples.config(directory), window, facts)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    return made


def test_rates_are_means_of_the_last_reports_of_each_worker() -> None:
    window = Window()
    for number in range(SMOOTHED + 5):
        window.add(0, observed(100 if number >= 5 else 10_000))
    # A report of two seconds has twice the requests.
    window.add(1, observed(60, seconds=2.0))
    (rates,) = window.traffic().values()
    assert rates == Rates(requests=130.0, bytes_in=1_300.0)
    window.forget(0)
    assert window.traffic()[key()].requests == 30.0
    window.begin()
    assert window.traffic() == {}


def test_the_last_second_is_that_of_the_last_reports() -> None:
    window = Window()
    window.add(0, observed(7_000))
    window.add(0, observed(50))
    window.add(1, observed(40, seconds=2.0))
    assert window.last_second() == Rates(requests=70.0, bytes_in=700.0)


def test_errors_of_the_last_minute_come_first(tmp_path: Path) -> None:
    now, before = (ErrorKey("", "team-a", PRODUCE, code) for code in (3, 7))
    facts = FACTS_OF(errors={before: 900, now: 5}, recent_errors={now: 4}, error_seconds=700.0)
    made = built(tmp_path, Window(), facts)["errors"]
    rows = [(one["error"], one["count"], one["in_all"]) for one in made["rows"]]
    assert rows == [("UNKNOWN_TOPIC_OR_PARTITION", 4, 5), ("REQUEST_TIMED_OUT", 0, 900)]
    assert (made["count"], made["in_all"]) == (4, 905)
    assert (made["seconds"], made["in_all_seconds"]) == (60, 700)


@pytest.mark.parametrize(
    ("buckets", "share", "low", "high"),
    [
        # Bucket i holds times of less than 2**(i/4) us, and no less than 2**((i-1)/4).
        ({41: 100}, 0.5, 2**10, 2**10.25),
        ({41: 99, 81: 1}, 0.5, 2**10, 2**10.25),
        ({41: 99, 81: 1}, 0.999, 2**20, 2**20.25),
        ({0: 10}, 0.99, 0, 1),
        ({97: 3}, 0.99, 2**24, 2**24.25),
    ],
)
def test_quantiles_lie_in_their_bucket(
    buckets: dict[int, int], share: float, low: float, high: float
) -> None:
    found = quantile(buckets, share)
    assert found is not None
    assert low <= found <= high


def test_no_quantile_of_nothing() -> None:
    assert quantile({}, 0.5) is None


def test_the_broker_is_measured_without_what_waits_there(tmp_path: Path) -> None:
    window = Window()
    latency = {
        PRODUCE: Latency({21: 10}, {41: 10}),
        FETCH: Latency({21: 10}, {81: 10}),
    }
    window.add(0, observed(1, latency=latency))
    made = built(tmp_path, window)
    assert 2**10 <= made["latency"]["broker"][1] <= 2**10.25
    assert made["second"]["broker"] == made["latency"]["broker"]
    assert [(one["api"], one["waits"]) for one in made["latency"]["rows"]] == [
        ("Produce", False),
        ("Fetch", True),
    ]
    assert made["latency"]["rows"][1]["broker"][0] > 2**20


def test_namespaces_topics_and_clients_add_up(tmp_path: Path) -> None:
    window = Window()
    rows = [
        (key("a", "org:x", "one"), Traffic(10, 100)),
        (key("b", "org:x", "one"), Traffic(5, 0, 50)),
        (key("b", "org:x", "two"), Traffic(1, 1)),
        (key("b", None, ""), Traffic(2)),
        (key("(other)", "org:x", "(other)"), Traffic(3)),
    ]
    window.add(0, Observed(1.0, rows))
    made = built(tmp_path, window)
    namespaces = {one["path"]: one for one in made["namespaces"]["rows"]}
    assert {path: one["requests"] for path, one in namespaces.items()} == {"org:x": 19, None: 2}
    assert namespaces["org:x"]["bytes_out"] == 50
    topics = {(one["path"], one["topic"]): one["requests"] for one in made["topics"]["rows"]}
    assert topics == {("org:x", "one"): 15, ("org:x", "two"): 1}
    assert len(made["clients"]["rows"]) == 5
    assert made["clients"]["rows"][0]["client_id"] == "a"


def test_every_list_is_bounded_and_says_how_much_more_there_is(tmp_path: Path) -> None:
    window = Window()
    count = 2_000
    window.add(
        0,
        Observed(
            1.0,
            [(key(f"c{n}", f"n{n}", f"t{n}"), Traffic(1, n)) for n in range(count)],
            {api: Latency({1: 1}, {1: 1}) for api in range(60)},
            [
                {"rule": "namespace", "message": f"{n}", "time": n, "count": 1, "mount": None}
                for n in range(90)
            ],
        ),
    )
    errors = {ErrorKey("", f"n{n}", PRODUCE, 3): 1 for n in range(count)}
    made = built(tmp_path, window, FACTS_OF(errors=errors, recent_errors=errors))
    for part, most, all_of_them in (
        ("namespaces", state_module.MAX_NAMESPACES, count),
        ("topics", state_module.MAX_TOPICS, count),
        ("clients", state_module.MAX_CLIENTS, count),
        ("latency", state_module.MAX_APIS, 60),
        ("errors", state_module.MAX_ERRORS, count),
        ("denials", state_module.MAX_DENIALS, 90),
    ):
        assert len(made[part]["rows"]) == most, part
        assert made[part]["more"] == all_of_them - most, part
    assert made["namespaces"]["rows"][0]["path"] == f"n{count - 1}"
    assert made["errors"]["count"] == count
    assert len(json.dumps(made)) < 200_000


def test_nothing_was_told_yet(tmp_path: Path) -> None:
    facts = Facts("1", 1, 2, [WorkerFacts(0, "is starting", 7)], problems=["worker 0 is not ready"])
    made = built(tmp_path, Window(), facts)
    assert made["clusters"] == []
    assert made["second"]["requests"] == 0
    assert made["second"]["gateway"] == [None, None]
    assert made["gateway"]["workers"][0]["state"] == "is starting"
    assert made["gateway"]["problems"] == ["worker 0 is not ready"]
    assert made["tree"] is None


def test_a_denial_has_the_command_that_allows_it(tmp_path: Path) -> None:
    gateway = SampleGateway(tmp_path)
    gateway.ask()
    gate, topic, policy = gateway.state()["denials"]["rows"]
    assert [len(one["commands"]) for one in (gate, topic, policy)] == [2, 1, 0]
    assert "policies.namespaces.analytics" in policy["remedy"]


def test_a_denial_at_several_workers_is_one(tmp_path: Path) -> None:
    window = Window()
    same = {"rule": "namespace", "message": "m", "mount": None}
    window.add(0, Observed(1.0, denials=[{**same, "time": 5, "count": 3}]))
    window.add(1, Observed(1.0, denials=[{**same, "time": 9, "count": 4}]))
    (found,) = built(tmp_path, window)["denials"]["rows"]
    assert (found["count"], found["time"]) == (7, 9)


def test_the_tree_has_its_mounts_with_their_traffic_and_state(tmp_path: Path) -> None:
    window = Window()
    la = {"name": "la", "reachable": True, "fresh": False, "gateways": []}
    rows = [(key()._replace(cluster="la", topic=topic), Traffic(2, 10)) for topic in ("t", "u")]
    window.add(0, Observed(1.0, rows, clusters=[la]))
    made = build_state(config_samples.tree(tmp_path), window, FACTS)
    assert [
        (one["mount"], one["kind"], one["number"], one["state"], one["requests"], one["bytes_in"])
        for one in made["tree"]["rows"]
    ] == [
        ("la:tracking", "cluster", 1, "catalog is stale", 4, 20),
        ("ny:tracking", "cluster", 2, "not known", 0, 0),
    ]


def test_gateways_have_pages_where_the_configuration_says_where(tmp_path: Path) -> None:
    window = Window()
    gateways = [{"id": "gw"}, {"id": "gw-b"}]
    window.add(0, Observed(1.0, clusters=[{"name": "main", "gateways": gateways}]))
    assert built(tmp_path, window)["fleet"] is None
    url = "https://{gateway_id}.example.org"
    config = config_samples.config(tmp_path, metrics={"fleet_url": url})
    figures = {"gw-b": {"ready": True}, "left": {"ready": True}}
    made = build_state(config, window, FACTS_OF(fleet=figures))
    assert made["fleet"] == {
        "gw": {"page": "https://gw.example.org/"},
        "gw-b": {"page": "https://gw-b.example.org/", "ready": True},
    }


def test_workers_that_tell_of_different_forms_are_told_apart(tmp_path: Path) -> None:
    window = Window()
    window.add(0, observed(1, form="compiled"))
    window.add(1, observed(1, form="compiled"))
    assert built(tmp_path, window)["gateway"]["form"] == "compiled"
    window.add(1, observed(1, form="pure"))
    assert built(tmp_path, window)["gateway"]["form"] == "compiled and pure"
