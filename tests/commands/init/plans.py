"""Plans of configurations, without brokers behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.commands.init.asked import Asked
from gateway.commands.init.front import Front
from gateway.commands.init.login import Login
from gateway.commands.init.plan import Plan, listeners_for
from gateway.commands.init.ports import choose, ranges_for
from gateway.config.addresses import Address

SERVER = Address("kafka-1.example", 9092)


def asked(
    node_ids: Sequence[int] = (1, 2, 3),
    *,
    namespaces: Mapping[str, int] | None = None,
    has_authorizer: bool | None = False,
    has_catalog: bool = False,
    sees_all_topics: bool = True,
) -> Asked:
    return Asked(
        server=SERVER,
        cluster_id="kafka-1",
        software="Kafka 4.3 (metadata.version 30)",
        controller_id=None,
        brokers={node: Address(f"kafka-{node}.example", 9092) for node in node_ids},
        node_ids=frozenset(node_ids),
        topics=7,
        sees_all_topics=sees_all_topics,
        namespaces=namespaces or {},
        has_authorizer=has_authorizer,
        has_catalog=has_catalog,
        unreachable={},
    )


def plan(
    output: Path,
    found: Asked | None = None,
    *,
    namespaces: Sequence[str] = (),
    front: Front | None = None,
    login: Login | None = None,
    first: int | None = None,
) -> Plan:
    """Its ports are chosen as if none were in use."""
    found = found or asked()
    node_ids = ranges_for(found.node_ids)
    front = front or Front("127.0.0.1", "127.0.0.1")
    listeners = listeners_for(namespaces)
    ports = choose(front.bind, listeners, node_ids, first, probe=lambda *_: None)
    login = login or Login({}, {})
    return Plan(output, found, [SERVER], node_ids, login, namespaces, front, ports)
