"""``kafka-gateway check --cluster``: topics whose acks=all one broker alone answers.

A namespace whose producers are held to acks=all (KIP-679) has what it asks for only where
``min.insync.replicas`` is 2 or more: with 1 the leader answers alone while no other replica is in
sync.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.catalog.snapshot import Snapshot
from gateway.config.errors import Key, Problem
from gateway.names import LogicalName, is_reserved
from gateway.policies.applied import MIN_ISR, is_hollow
from gateway.policies.tree import BUILT_IN, Policies

_BATCH: Final = 500
_SHOWN: Final = 4


async def hollow_topics(
    asker: ClusterAdmin, flats: Sequence[str], snapshot: Snapshot, policies: Policies
) -> list[Problem]:
    """A warning for each place of the configuration that asks for acks=all, with the topics where
    that means little. Raises OSError."""
    held: dict[str, LogicalName] = {}
    for flat in flats:
        name = snapshot.owner(flat)
        if not is_reserved(flat) and policies.guarantee(name.namespace).acks != "observe":
            held[flat] = name
    found: dict[str, list[str]] = {}
    async for flat, value in _values(asker, held):
        if is_hollow(policies, held[flat].namespace, value):
            source = policies.guarantee(held[flat].namespace).acks_source
            found.setdefault(source, []).append(str(held[flat]))
    return [_problem(source, sorted(names)) for source, names in sorted(found.items())]


async def _values(
    asker: ClusterAdmin, held: Mapping[str, LogicalName]
) -> AsyncIterator[tuple[str, str]]:
    """The value that holds for each topic, by its flat name."""
    rest = iter(held)
    while batch := tuple(islice(rest, _BATCH)):
        response = await asker.ask(describe_configs(batch, [MIN_ISR]), changes=False)
        for result in response.results:
            for config in _configs(result):
                yield str(result.resource_name), str(config.value or "")


def _configs(result: Any) -> Iterator[Any]:
    """Of a topic that was deleted meanwhile there is nothing to tell."""
    return (config for config in result.configs or () if config.name == MIN_ISR)


def _problem(source: str, names: Sequence[str]) -> Problem:
    shown = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    asks = "namespaces ask" if source == BUILT_IN else f"{source} asks"
    return Problem(
        _key(source),
        f"{asks} for acks=all, which one replica alone answers where {MIN_ISR} is 1: {shown}{more};"
        " make it 2 there (with 3 replicas), or at the brokers",
    )


def _key(source: str) -> Key:
    return () if source == BUILT_IN else ("policies",)
