"""Rules between the keys of a configuration: ports that overlap, homes that exist, names."""

from __future__ import annotations

import ipaddress
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

from gateway.config.addresses import MAX_PORT
from gateway.config.errors import Key, Problem, nearest
from gateway.config.models import Listener
from gateway.config.security import AUDIT_TOPIC, TRAFFIC_TOPIC
from gateway.config_file.page_rules import page_problems
from gateway.config_file.parts import Parts
from gateway.config_file.peer_rules import peer_problems
from gateway.config_file.security_rules import (
    catalog_problems,
    cluster_problems,
    sasl_problems,
    tls_problems,
)
from gateway.config_file.tree_rules import tree_problems
from gateway.names import is_reserved, parents


@dataclass(frozen=True, slots=True)
class PortClaim:
    """Ports ``first`` to ``last`` on a bind address, with their ``use`` and the key that sets
    them."""

    host: str
    first: int
    last: int
    use: str
    key: Key

    @property
    def text(self) -> str:
        """The claim in words, such as ``the metrics port (9404)``."""
        ports = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"the {self.use} ({ports})"

    def meets(self, other: PortClaim) -> bool:
        """Whether the two claims share a port, on addresses that cannot both be bound."""
        return self.shares_ports(other) and hosts_overlap(self.host, other.host)

    def shares_ports(self, other: PortClaim) -> bool:
        """Whether the two claims share a port number."""
        return self.first <= other.last and other.first <= self.last


def cross_problems(parts: Parts) -> list[Problem]:
    """Every mistake that no key shows by itself."""
    return [
        *tree_problems(parts),
        *peer_problems(parts),
        *_repeated_names(parts.listeners),
        *_homes(parts),
        *_advertised(parts.listeners),
        *_ports(parts),
        *_record_topics(parts),
        *page_problems(parts.metrics),
        *tls_problems(parts),
        *sasl_problems(parts.listeners),
        *cluster_problems(parts),
        *catalog_problems(parts.catalog, ()),
        *(
            problem
            for index, cluster in parts.clusters.items()
            for problem in catalog_problems(cluster.catalog, ("clusters", index))
        ),
    ]


def port_claims(parts: Parts) -> list[PortClaim]:
    """Every port that will be bound, without the brokers' ports if node ids are not valid."""
    claims: list[PortClaim] = []
    for index, listener in parts.listeners.items():
        where: Key = ("listeners", index)
        own = f"of listener '{listener.name}'"
        port, use = listener.port, f"bootstrap port {own}"
        claims.append(PortClaim(listener.bind, port, port, use, (*where, "port")))
        ranges = parts.ranges_of(listener)
        if ranges is not None and listener.broker_names is None:
            base = listener.broker_base_port
            last = base + sum(one.size for one in ranges) - 1
            use, key = f"broker ports {own}", (*where, "broker_base_port")
            claims.append(PortClaim(listener.bind, base, last, use, key))
        if listener.gateway_port is not None:
            port, use = listener.gateway_port, f"gateway port {own}"
            claims.append(PortClaim(listener.bind, port, port, use, (*where, "gateway_port")))
    if parts.metrics is not None:
        port, key = parts.metrics.port, ("metrics", "port")
        claims.append(PortClaim(parts.metrics.host, port, port, "metrics port", key))
    if parts.tree is not None and parts.tree.listener is not None:
        port, key = parts.tree.listener.port, ("tree", "listener", "port")
        claims.append(PortClaim(parts.tree.listener.bind, port, port, "peers' port", key))
    return claims


@cache
def is_wildcard(host: str) -> bool:
    """Whether binding to ``host`` binds to every address of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def hosts_overlap(one: str, other: str) -> bool:
    """Whether two bind addresses cannot share a port. Host names are not resolved to find out."""
    left, right = _address(one), _address(other)
    if left is not None and right is not None and left.version != right.version:
        return False
    same = one.casefold() == other.casefold() if left is None or right is None else left == right
    return same or is_wildcard(one) or is_wildcard(other)


@cache
def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address("127.0.0.1" if host.casefold() == "localhost" else host)
    except ValueError:
        return None


def _repeated_names(listeners: Mapping[int, Listener]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, listener in listeners.items():
        before = first.setdefault(listener.name, index)
        if before != index:
            text = f"'{listener.name}' is the name of listeners[{before}] too; choose another"
            yield Problem(("listeners", index, "name"), text)


def _homes(parts: Parts) -> Iterator[Problem]:
    tiers: dict[int, list[str]] = {}
    for index, listener in parts.listeners.items():
        if parts.is_far(listener.volume):
            continue  # it may have neither home nor escape: peer_rules
        namespaces = _namespaces_of(parts, listener)
        # Computed once for each list of namespaces: most listeners have the same.
        known = tiers.get(id(namespaces))
        if known is None:
            found = {tier for namespace in namespaces or () for tier in parents(namespace)}
            known = tiers[id(namespaces)] = sorted(found)
        if listener.home is None:
            if listener.escape:
                text = "means nothing without a home; remove it or give home"
                yield Problem(("listeners", index, "escape"), text)
        elif namespaces is not None and not _is_in(listener.home, known):
            near = nearest(listener.home, known)
            hint = f"did you mean '{near}'?" if near else f"add it {_place(parts, listener)}"
            text = f"'{listener.home}' is not among the namespaces; {hint}"
            yield Problem(("listeners", index, "home"), text)


def _is_in(text: str, in_order: Sequence[str]) -> bool:
    place = bisect_left(in_order, text)
    return place < len(in_order) and in_order[place] == text


def _place(parts: Parts, listener: Listener) -> str:
    """Where the file has the namespaces of the listener's cluster."""
    if len(parts.clusters) == 1:
        return "there"
    return f"to clusters[{parts.volume_of(listener)}].namespaces"


def _namespaces_of(parts: Parts, listener: Listener) -> Sequence[str] | None:
    """The namespaces that the file makes in the cluster of the listener's home, as far as known."""
    index = parts.volume_of(listener)
    cluster = None if index is None else parts.clusters[index]
    if cluster is not None and "namespaces" in cluster.written:
        return cluster.namespaces
    return None if parts.is_tree and cluster is None else parts.namespaces


def _advertised(listeners: Mapping[int, Listener]) -> Iterator[Problem]:
    for index, listener in listeners.items():
        if is_wildcard(listener.advertised_host):
            text = (
                f"'{listener.advertised_host}' is every address of this machine, which clients "
                "cannot connect to; give the name or address that they shall use"
            )
            yield Problem(("listeners", index, "advertised_host"), text)


def _record_topics(parts: Parts) -> Iterator[Problem]:
    traffic = parts.traffic_log
    if traffic is not None and traffic.enabled and (traffic.directory or traffic.topic) is None:
        text = "has neither a directory nor a topic; give one, or enabled: false"
        yield Problem(("traffic_log",), text)
    for key, settings, like in (
        ("audit", parts.audit, AUDIT_TOPIC),
        ("traffic_log", traffic, TRAFFIC_TOPIC),
    ):
        topic = None if settings is None else settings.topic
        if topic is not None and not (parts.authorizes or is_reserved(topic)):
            text = (
                f"'{topic}' could be read and written by every client, as there is no "
                f"authorization; call it {like}, which no client reaches, or give authorization"
            )
            yield Problem((key, "topic"), text)


def _ports(parts: Parts) -> Iterator[Problem]:
    claims = port_claims(parts)
    for claim in claims:
        if claim.last > MAX_PORT:
            text = (
                f"{claim.text}, one for each place in node_ids, go beyond {MAX_PORT}; "
                "choose a lower base port or fewer node_ids"
            )
            yield Problem(claim.key, text)
    overlapping = set()
    for one, other in _pairs(claims, PortClaim.meets):
        text = f"{other.text} and {one.text} overlap; move one of them"
        yield Problem(other.key, text)
        overlapping.add(other)
    claims = [claim for claim in claims if claim not in overlapping]
    yield from _advertised_twice(parts, claims)


def _pairs(
    claims: Sequence[PortClaim], collide: Callable[[PortClaim, PortClaim], bool]
) -> list[tuple[PortClaim, PortClaim]]:
    """Claims that share ports and collide, in their order: each with the first claim that it
    collides with.

    Few claims share ports, so claims are compared in the order of their ports.
    """
    found: list[tuple[int, int]] = []
    running: list[int] = []
    for place in sorted(range(len(claims)), key=lambda each: claims[each].first):
        claim = claims[place]
        running = [other for other in running if claims[other].last >= claim.first]
        met = next((other for other in running if collide(claim, claims[other])), None)
        if met is not None:
            found.append((min(place, met), max(place, met)))
        running.append(place)
    return [(claims[one], claims[other]) for one, other in sorted(found, key=itemgetter(1, 0))]


def _advertised_twice(parts: Parts, claims: Sequence[PortClaim]) -> Iterator[Problem]:
    """Listeners on different addresses may share ports, but must not advertise the same address."""
    shown: list[tuple[str, PortClaim]] = []
    for claim in claims:
        for index, listener in parts.listeners.items():
            names = listener.broker_names
            if claim.key in (
                ("listeners", index, "broker_base_port"),
                ("listeners", index, "gateway_port"),
            ):
                shown.append((listener.advertised_host.casefold(), claim))
            elif claim.key == ("listeners", index, "port") and names is not None:
                shown.append((names.casefold(), claim))
    by_host: dict[str, list[PortClaim]] = {}
    for host, claim in shown:
        by_host.setdefault(host, []).append(claim)
    for one_host, each in by_host.items():
        for one, other in _pairs(each, lambda one, other: not one.meets(other)):
            verb = "is" if one.first == one.last else "are"
            text = f"{one.text} {verb} advertised at '{one_host}' too; choose another"
            use = "base port" if other.key[-1] == "broker_base_port" else "port"
            yield Problem(other.key, f"{text} {use}")
