"""A worker's flows of one second, summed up for the page: who does what with which topic.

Nothing here is called unless somebody looks at the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from gateway.counts import OTHER
from gateway.flows import NO_TOPIC, Flow, FlowSums
from gateway.names import DELIMITER
from gateway.page.observed import ErrorKey, Latency, Traffic, TrafficKey, cut

MAX_ROWS: Final = 200
"""Clients and topics that a worker tells apart in a second: those with most traffic."""

MAX_ERRORS: Final = 100

_A_REQUEST: Final = 1_000
"""How many bytes count as much as one request, where rows are put in order."""


def traffic_of(flows: Iterable[Flow], most: int = MAX_ROWS) -> list[tuple[TrafficKey, Traffic]]:
    """The traffic by client and topic, the busiest first. What is beyond the bound is summed up by
    namespace, and where that is too much, too, in one namespace ``(other)``: no count is lost."""
    sums: dict[TrafficKey, Traffic] = {}
    for flow in flows:
        _add(sums, _key_of(flow), _traffic_of(flow))
    if len(sums) <= most:
        return list(_busiest(sums))
    ordered = list(_busiest(sums))
    folded: dict[TrafficKey, Traffic] = {}
    for key, traffic in ordered[most:]:
        _add(folded, TrafficKey(key.cluster, key.namespace, *[OTHER] * 5), traffic)
    if len(folded) > most:
        rest: dict[TrafficKey, Traffic] = {}
        for number, (key, traffic) in enumerate(_busiest(folded)):
            where = key if number < most - 1 else TrafficKey(*[OTHER] * 7)
            _add(rest, where, traffic)
        folded = rest
    return [*ordered[:most], *folded.items()]


def latency_of(flows: Iterable[Flow]) -> Mapping[int, Latency]:
    """The latency histograms by API."""
    sums: dict[int, FlowSums] = {}
    for flow in flows:
        if flow.led:
            sums.setdefault(flow.api_key, FlowSums()).add_flow(flow)
    return {api: Latency(one.gateway_us, one.broker_us) for api, one in sums.items()}


def errors_of(flows: Iterable[Flow], most: int = MAX_ERRORS) -> list[tuple[ErrorKey, int]]:
    """The error codes in responses; what is beyond the bound is summed up by API and code."""
    sums: dict[ErrorKey, int] = {}
    for flow in flows:
        for code, count in flow.errors.items():
            namespace = _namespace_of(flow)
            key = ErrorKey(flow.source.place.cluster, namespace, flow.api_key, code)
            sums[key] = sums.get(key, 0) + count
    ordered = sorted(sums.items(), key=itemgetter(1), reverse=True)
    folded: dict[ErrorKey, int] = {}
    for key, count in ordered[most:]:
        other = ErrorKey(OTHER, OTHER, key.api_key, key.code)
        folded[other] = folded.get(other, 0) + count
    return [*ordered[:most], *list(folded.items())[:most]]


def _add(sums: dict[TrafficKey, Traffic], key: TrafficKey, traffic: Traffic) -> None:
    before = sums.get(key)
    sums[key] = traffic if before is None else before.plus(traffic)


def _busiest(sums: Mapping[TrafficKey, Traffic]) -> Iterator[tuple[TrafficKey, Traffic]]:
    yield from sorted(sums.items(), key=lambda item: weight(item[1]), reverse=True)


def weight(traffic: Traffic) -> float:
    """How busy it is, for putting rows in order."""
    return traffic.bytes_in + traffic.bytes_out + _A_REQUEST * traffic.requests


def _key_of(flow: Flow) -> TrafficKey:
    source = flow.source
    namespace = _namespace_of(flow)
    name = "" if namespace is None else flow.logical.rpartition(DELIMITER)[2]
    software = f"{source.software_name} {source.software_version}".strip()
    texts = map(cut, (name, source.listener, source.principal, source.client_id, software))
    return TrafficKey(source.place.cluster, namespace, *texts)


def _namespace_of(flow: Flow) -> str | None:
    if flow.namespace == NO_TOPIC:
        return None
    return cut(flow.source.place.namespace_of(flow.namespace))


def _traffic_of(flow: Flow) -> Traffic:
    return Traffic(
        flow.requests,
        flow.bytes_in,
        flow.bytes_out,
        flow.records,
        flow.records_out,
        sum(flow.errors.values()),
        sum(flow.denials.values()),
    )
