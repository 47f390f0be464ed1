"""gateway.traffic.rows: flows of a window, summed up within bounds."""

from __future__ import annotations

import pytest

from gateway.counts import OTHER
from gateway.flows import Flow
from gateway.traffic.rows import FlowWindow, host_of
from tests.gateway.flow_samples import buckets, flow, source


def window(*flows: Flow, max_keys: int = 100) -> FlowWindow:
    made = FlowWindow(max_keys)
    made.add(flows)
    return made


def test_flows_of_one_client_topic_and_api_are_one_sum() -> None:
    one = flow(
        requests=1,
        led=1,
        partitions=2,
        bytes_in=3,
        bytes_out=4,
        records=5,
        batches=6,
        records_out=20,
        batches_out=21,
        acks0=7,
        acks1=8,
        acks_all=9,
        idempotent=10,
        transactional=11,
        errors={3: 1},
        denials={"a": 1},
        weak={"acks1_upgraded": 2},
        gateway_us=buckets(b3=1),
        broker_us=buckets(b4=1),
    )
    other = flow(led=2, errors={3: 1, 5: 1}, denials={"a": 1, "b": 1}, gateway_us=buckets(b3=2))
    other.weak["acks0_refused"] = 5
    ((_, sums),) = window(one, other, one).sums.items()
    counts = {
        name: getattr(sums, name)
        for name in ("requests", "led", "partitions", "bytes_in", "bytes_out", "records")
    }
    assert counts == {
        "requests": 4,
        "led": 4,
        "partitions": 4,
        "bytes_in": 6,
        "bytes_out": 8,
        "records": 10,
    }
    assert (sums.batches, sums.acks0, sums.acks1, sums.acks_all) == (12, 14, 16, 18)
    assert (sums.records_out, sums.batches_out) == (40, 42)
    assert (sums.idempotent, sums.transactional) == (20, 22)
    assert (sums.errors, sums.denials) == ({3: 3, 5: 1}, {"a": 3, "b": 1})
    assert sums.weak == {"acks1_upgraded": 4, "acks0_refused": 5}
    assert sums.gateway_us == {3: 4}
    assert sums.broker_us == {4: 2}
    assert one.gateway_us == buckets(b3=1)


def test_a_client_that_reconnects_is_one_client_with_two_connections() -> None:
    ports = [source(client_address=f"10.0.0.1:{port}") for port in (1, 2, 1)]
    ((key, sums),) = window(*map(flow, ports)).sums.items()
    assert key.client_address == "10.0.0.1"
    assert len(sums.connections) == 2


@pytest.mark.parametrize(
    "other",
    [
        flow(source(listener="x")),
        flow(source(principal="x")),
        flow(source(client_id="x")),
        flow(source(software_name="x")),
        flow(source(software_version="x")),
        flow(source(client_address="10.0.0.2:1")),
        flow(api_key=1),
        flow(version=8),
        flow(topic="team-b:orders"),
        flow(topic="team-a:other"),
    ],
)
def test_what_differs_is_a_sum_of_its_own(other: Flow) -> None:
    assert len(window(flow(), other).sums) == 2


def test_beyond_the_bound_clients_are_folded_and_topics_are_not() -> None:
    flows = [flow(source(client_id=f"c{n}"), led=1) for n in range(10)]
    flows += [flow(source(client_id=f"c{n}"), topic="team-a:b", led=1) for n in range(5, 10)]
    made = window(*flows, max_keys=5)
    assert sum(sums.led for sums in made.sums.values()) == 15
    assert made.folded == 10
    folded = {key.logical: sums.led for key, sums in made.sums.items() if key.client_id == OTHER}
    assert folded == {"team-a:orders": 5, "team-a:b": 5}
    (key,) = {key._replace(logical="", flat="") for key in made.sums if key.client_id == OTHER}
    assert (key.client_address, key.software_name, key.software_version) == (OTHER, OTHER, OTHER)
    assert key.namespace == "team-a"


def test_what_was_summed_up_before_the_bound_goes_on() -> None:
    made = window(flow(source(client_id="a")), flow(source(client_id="b")), max_keys=1)
    made.add([flow(source(client_id="a"), led=1)])
    assert made.folded == 1
    assert sorted(key.client_id for key in made.sums) == ["(other)", "a"]


def test_far_beyond_the_bound_topics_are_folded_too() -> None:
    flows = [flow(topic=f"team-a:t{n}", led=1, bytes_in=2) for n in range(100)]
    made = window(*flows, flow(topic="", led=1), max_keys=10)
    assert len(made.sums) <= 22
    assert sum(sums.bytes_in for key, sums in made.sums.items() if key.namespace == "team-a") == 200
    assert any(key.logical == key.flat == OTHER for key in made.sums)
    assert sum(sums.led for key, sums in made.sums.items() if key.namespace == "(none)") == 1


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.1:5", "10.0.0.1"),
        ("[fe80::1]:5", "fe80::1"),
        ("h:1", "h"),
        ("", ""),
        ("10.0.0.1 (peer la)", "10.0.0.1 (peer la)"),
        ("fe80::1 (peer la)", "fe80::1 (peer la)"),
    ],
)
def test_hosts(address: str, host: str) -> None:
    assert host_of(address) == host
