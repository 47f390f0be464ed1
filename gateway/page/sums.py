"""A worker's flows of a second, summed up for the page by client and topic.

Nothing here is called unless the page is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gateway.counts import OTHER
from gateway.flows import NO_TOPIC, Flow, FlowSums
from gateway.names import DELIMITER
from gateway.page.observed import Latency, Traffic, TrafficKey, add_traffic, cut

MAX_ROWS: Final = 200
"""Rows of a client and a topic that a worker reports per second: the rows with most traffic."""

_A_REQUEST: Final = 1_000
"""A request counts as much as so many bytes when rows are sorted."""


class FlowsOfSecond:
    """Sums of a second's flows, which are added in pieces."""

    def __init__(self) -> None:
        self._traffic: dict[TrafficKey, Traffic] = {}
        self._latency: dict[int, FlowSums] = {}

    def add(self, flows: Iterable[Flow]) -> None:
        """Add flows, whose counts must not change any more."""
        for flow in flows:
            add_traffic(self._traffic, _key_of(flow), _traffic_of(flow))
            if flow.led:
                sums = self._latency.get(flow.api_key)
                if sums is None:
                    sums = self._latency[flow.api_key] = FlowSums()
                sums.add_flow(flow)

    def traffic(self, most: int = MAX_ROWS) -> list[tuple[TrafficKey, Traffic]]:
        """The traffic by client and topic, the busiest first. Rows beyond ``most`` are summed up by
        namespace, and if there are too many namespaces, too, in a namespace ``(other)``: no count
        is lost."""
        ordered = _busiest(self._traffic)
        folded: dict[TrafficKey, Traffic] = {}
        for key, traffic in ordered[most:]:
            add_traffic(folded, TrafficKey(key.cluster, key.namespace, *[OTHER] * 5), traffic)
        rest: dict[TrafficKey, Traffic] = {}
        for number, (key, traffic) in enumerate(_busiest(folded)):
            kept = len(folded) <= most or number < most - 1
            add_traffic(rest, key if kept else TrafficKey(*[OTHER] * 7), traffic)
        return [*ordered[:most], *rest.items()]

    def latency(self) -> Mapping[int, Latency]:
        """The latency histograms by API."""
        return {api: Latency(one.gateway_us, one.broker_us) for api, one in self._latency.items()}


def _busiest(sums: Mapping[TrafficKey, Traffic]) -> list[tuple[TrafficKey, Traffic]]:
    return sorted(sums.items(), key=lambda item: _weight(item[1]), reverse=True)


def _weight(traffic: Traffic) -> float:
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
