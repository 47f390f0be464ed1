"""Metrics, traffic log, audit log and page have the same counts of a mix of requests, each under
its namespace, whoever answered it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from time import monotonic, sleep
from typing import Any, Final

import pytest

from gateway.config.policies import PolicySettings
from gateway.counts import Counts
from gateway.flows import LATENCY_STEPS, NO_TOPIC, Flow
from gateway.page.sums import FlowsOfSecond
from gateway.policies.tree import Policies
from gateway.traffic.record import Origin, Window
from gateway.traffic.rows import FlowWindow, denial_record, flow_record
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import error_name
from tests.session import fetching
from tests.session.allowing import Allowing
from tests.session.guarantees import GOOD, OWN, STRICT
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import produce, produced
from tests.session.test_audit import audited
from tests.session.test_changes import create, delete

ORIGIN: Final = Origin("gateway", 0)
WINDOW: Final = Window(0, 1000)
NAME: Final = "team-a:orders"
FOREIGN: Final = "team-b:orders"
TOPICS: Final = (OWN, "team-b..orders")
ALLOWED: Final = ("WRITE", "READ", "DESCRIBE", "CREATE", "DELETE")
WAIT_SECONDS: Final = 0.1

Exchange = tuple[str, int, Any, Any]
"""API, version, request, and the broker's response (None if the broker gets no request)."""

TOPIC_DENIED, TOPIC_EXISTS, POLICY_DENIED, NO_SESSION = 29, 36, 44, 70
"""TOPIC_AUTHORIZATION_FAILED, TOPIC_ALREADY_EXISTS, POLICY_VIOLATION, FETCH_SESSION_ID_NOT_FOUND
(Errors)."""


def described(name: str) -> Any:
    cls = messages.message_class("DescribeTopicPartitionsRequest", 0)
    topics = (make(element_class(cls, "topics"), {"name": name}),)
    return messages.build(cls, topics=topics, cursor=None, response_partition_limit=100)


MIX: Final[dict[str, Exchange]] = {
    "accepted": ("Produce", 9, produce({NAME: [GOOD]}), produced({OWN: [0]})),
    "denied-by-acl": ("Fetch", 12, fetching.request(12, {FOREIGN: [0]}), None),
    "denied-by-acl-by-id": ("Fetch", 13, fetching.request(13, {2: [0]}), None),
    "guarantee": ("Produce", 9, produce({NAME: [GOOD]}, acks=1), None),
    "guarantee-by-id": ("Produce", 13, produce({"1": [GOOD]}, 13, acks=1), None),
    "no-such-namespace": ("Fetch", 12, fetching.request(12, {"nowhere:x": [0]}), None),
    "executed": ("CreateTopics", 7, create("team-a:made"), None),
    "executed-in-vain": ("CreateTopics", 7, create(NAME), None),
    "executed-denied": ("CreateTopics", 7, create("team-b:new"), None),
    "deletion-denied": ("DeleteTopics", 6, delete(FOREIGN), None),
    "answered-namespace": ("DescribeTopicPartitions", 0, described("team-b:"), None),
    "local": ("Fetch", 12, fetching.request(12, {}, session_id=5, session_epoch=3), None),
}
CASES: Final[dict[str, tuple[str, dict[int, int], dict[str, int], bool]]] = {
    "accepted": ("team-a", {}, {}, True),
    "denied-by-acl": ("team-b", {TOPIC_DENIED: 1}, {"acl": 1}, False),
    "denied-by-acl-by-id": ("team-b", {TOPIC_DENIED: 1}, {"acl": 1}, False),
    "guarantee": ("team-a", {POLICY_DENIED: 1}, {"producer_guarantee": 1}, False),
    "guarantee-by-id": ("team-a", {POLICY_DENIED: 1}, {"producer_guarantee": 1}, False),
    "no-such-namespace": (NO_TOPIC, {TOPIC_DENIED: 1}, {"acl": 1}, False),
    "executed": ("team-a", {}, {}, True),
    "executed-in-vain": ("team-a", {TOPIC_EXISTS: 1}, {}, True),
    "executed-denied": ("team-b", {TOPIC_DENIED: 1}, {"acl": 1}, False),
    "deletion-denied": ("team-b", {TOPIC_DENIED: 1}, {"acl": 1}, False),
    "answered-namespace": ("team-b", {}, {}, False),
    "local": (NO_TOPIC, {NO_SESSION: 1}, {}, False),
}
"""Namespace, errors (by code), denials (by rule), and whether brokers or the catalog took time."""


def world() -> Pair:
    allowed = [
        f"{operation} TOPIC {name}"
        for operation in ALLOWED
        for name in (NAME, "team-a:made", "team-b:")
    ]
    policies = Policies(PolicySettings.model_validate(STRICT))
    return Pair(topics=TOPICS, authorizer=Allowing(allowed), policies=policies)


def play(pair: Pair, names: Iterable[str]) -> list[Flow]:
    """The flows of these exchanges."""
    for name in names:
        api, version, request, response = MIX[name]
        pair.send(request_frame(api, version, request))
        assert bool(pair.to_broker()) == (response is not None), name
        if response is not None:
            pair.answered(response_frame(api, version, response))
        assert pair.to_client(), name
    return list(pair.session.take_flows())


@pytest.mark.parametrize("name", CASES)
def test_a_request_counts_under_what_it_concerns(name: str) -> None:
    namespace, errors, denials, timed = CASES[name]
    flows = play(world(), [name])
    (led,) = [flow for flow in flows if flow.led]
    assert led.namespace == namespace
    assert {flow.namespace for flow in flows} == {namespace}
    assert sum((Counter(flow.errors) for flow in flows), Counter()) == errors
    assert sum((Counter(flow.denials) for flow in flows), Counter()) == denials
    assert sum(led.gateway_us) == 1
    assert sum(led.broker_us) == timed


Sums = tuple[Counter[str], Counter[tuple[str, str]], Counter[str]]
"""Requests by namespace, errors by namespace and name, denials by rule."""


def of_cases() -> Sums:
    requests = Counter(namespace for namespace, *_ in CASES.values())
    errors, denials = Counter[tuple[str, str]](), Counter[str]()
    for namespace, codes, rules, _ in CASES.values():
        errors.update({(namespace, error_name(code)): count for code, count in codes.items()})
        denials.update(rules)
    return requests, errors, denials


def of_metrics(flows: list[Flow]) -> Sums:
    counts = Counts()
    counts.add_flows(flows)
    requests, errors, denials = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
    for family, labels, count in counts.take():
        if not isinstance(count, int):
            continue
        first = str(labels[0])
        if family == "requests":
            requests[first] += count
        elif family == "errors":
            errors[first, error_name(int(labels[2]))] += count
        elif family == "denials":
            denials[first] += count
    return requests, errors, denials


def of_log(flows: list[Flow]) -> Sums:
    window = FlowWindow()
    window.add(flows)
    requests, errors, denials = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
    for item in window.sums.items():
        record = flow_record(ORIGIN, "1", WINDOW, *item)
        namespace = NO_TOPIC if record["namespace"] is None else record["namespace"]
        requests[namespace] += record["led_requests"]
        denials.update(record["denials"])
        errors.update({(namespace, name): count for name, count in record["errors"].items()})
        assert (record["logical_topic"] is None) == (record["flat_topic"] is None)
        assert record["logical_topic"] != ""
    return +requests, errors, denials


def test_all_four_agree() -> None:
    pair = world()
    sink = audited(pair)
    flows = play(pair, MIX)
    requests, errors, denials = of_cases()
    assert of_metrics(flows) == of_log(flows) == (requests, errors, denials)

    events = [denial_record(ORIGIN, "1", 0, denial) for denial in pair.worker.denials]
    # They name the requested resource, whether or not it exists; other errors are no denials.
    exists, session, acl = map(error_name, (TOPIC_EXISTS, NO_SESSION, TOPIC_DENIED))
    undenied = Counter([("team-a", exists), (NO_TOPIC, session), (NO_TOPIC, acl)])
    denied = Counter((event["namespace"], event["error"]) for event in events)
    assert denied - Counter([("nowhere", acl)]) == errors - undenied
    for rules in (Counter(e["rule"] for e in events), Counter(d["rule"] for d in sink.data)):
        assert rules == denials

    page = FlowsOfSecond()
    page.add(flows)
    shown = Counter[str]()
    for key, traffic in page.traffic():
        namespace = NO_TOPIC if key.namespace is None else key.namespace
        shown[namespace] += traffic.errors
    assert +shown == Counter(namespace for namespace, _ in errors.elements())


@pytest.mark.parametrize("version", [9, 13])
def test_what_the_guarantee_denies_has_the_topics_name(version: int) -> None:
    pair = world()
    sink = audited(pair)
    asked = "1" if version > 12 else NAME
    pair.send(request_frame("Produce", version, produce({asked: [GOOD]}, version, acks=1)))
    (data,) = sink.data
    assert (data["operation"], data["resource_type"], data["resource"]) == ("WRITE", "TOPIC", NAME)
    (event,) = (denial_record(ORIGIN, "1", 0, denial) for denial in pair.worker.denials)
    assert (event["operation"], event["named"]) == ("WRITE", f"TOPIC {NAME}")
    assert (event["namespace"], event["because"]) == ("team-a", None)
    assert pair.worker.take_authorization_denials() == []  # no ACL denied it


def test_an_answer_that_waits_for_others_has_no_time_for_it() -> None:
    pair, begun = world(), monotonic()
    pair.send(request_frame("Produce", 9, produce({NAME: [GOOD]}), 1))
    pair.send(request_frame("Produce", 9, produce({NAME: [GOOD]}, acks=1), 2))
    slept = -monotonic()
    sleep(WAIT_SECONDS)
    slept += monotonic()
    pair.answered(response_frame("Produce", 9, produced({OWN: [0]}), 1))
    flows = pair.session.take_flows()
    rest_us = (monotonic() - begun - slept) * 1e6
    assert sum(flow.led for flow in flows) == 2
    gateway, broker = Counter[int](), Counter[int]()
    for flow in flows:
        gateway.update({n: count for n, count in enumerate(flow.gateway_us) if count})
        broker.update({n: count for n, count in enumerate(flow.broker_us) if count})
    assert gateway.total() == 2
    # A bucket begins at the end of the bucket before it; bucket 0 begins at 0.
    assert all(2 ** ((n - 1) / LATENCY_STEPS) <= rest_us for n in gateway if n)
    ((of_broker, count),) = broker.items()
    assert (count, 2 ** (of_broker / LATENCY_STEPS) > WAIT_SECONDS * 1e6) == (1, True)
