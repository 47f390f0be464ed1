"""The APIs of brokers that the catalog is read and written with, and whether brokers serve them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.catalog.log import kafka_connections, kafka_partition, kafka_transactions
from protocol.schema import api_key_of, message_versions

NEEDS: Final[Mapping[str, int]] = {
    **kafka_connections.NEEDS,
    **kafka_partition.NEEDS,
    **kafka_transactions.NEEDS,
}
"""Kafka's name of a request -> the newest version of it that the catalog uses."""


class NotServed(Exception):
    """The brokers do not serve an API that the catalog needs; the text names it and the next
    step."""


def require(ranges: Mapping[int, tuple[int, int]]) -> None:
    """Raise NotServed unless the brokers serve every API that the catalog needs; ``ranges`` maps
    API keys to the (lowest, highest) versions that they serve."""
    missing = [name for name, newest in NEEDS.items() if not _is_served(ranges, name, newest)]
    if not missing:
        return
    names = ", ".join(name.removesuffix("Request") for name in missing)
    transactions = [name for name in missing if name in kafka_transactions.NEEDS]
    step = (
        "each change of the catalog is a transaction (KIP-98): ask who runs the brokers to allow"
        " transactional producers"
        if transactions
        else "ask who runs the brokers to allow it"
    )
    raise NotServed(
        f"the brokers do not serve {names} in a version that the catalog needs; {step}, see 'What"
        " the brokers have to allow' in docs/install.md"
    )


def _is_served(ranges: Mapping[int, tuple[int, int]], name: str, newest: int) -> bool:
    lowest, highest = ranges.get(api_key_of(name), (0, -1))
    return any(lowest <= each <= min(highest, newest) for each in message_versions(name))
