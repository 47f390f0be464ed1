"""Values in the configuration: addresses, ports, names, paths of the tree, and how they are read.

If a type rejects a value, its error is a sentence with the mistake and its correction.
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, PlainValidator

from gateway.config.addresses import MAX_PORT, Address, parse_address
from gateway.config.policies import namespace_of
from gateway.mounts import MAX_NUMBER
from gateway.names import DELIMITER, TIER
from gateway.node_ids import NodeIdRanges

BROKERS_DEFAULT = -1
"""In place of a replication factor: the brokers' own ``default.replication.factor``."""

MAX_REPLICATION_FACTOR = 32_767

GATEWAY_ID = "{gateway_id}"
"""Stands in a fleet's URL for the id of a gateway."""

UNLIMITED = 2_147_483_647
"""Kafka's default for the limits of connections."""

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,64}\Z")


def is_loopback(host: str) -> bool:
    """Whether an address to bind, or a host name, is reachable only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def _node_id_text(value: object) -> object:
    """Turn a lone node id, which YAML reads as a number, into text."""
    return str(value) if type(value) is int else value


def _node_ids(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        NodeIdRanges.parse(value)
    except ValueError as error:
        raise ValueError(f'{str(error).partition(";")[0]}; write it like ["1-3", 10]') from None
    return value


def _ip_address(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError(f"'{value}' is no IP address; write it like 192.0.2.7") from None


def _name(value: str) -> str:
    if not _NAME.match(value):
        raise ValueError(f"'{value}' is no name; use 1 to 64 of letters, digits, '.', '_' and '-'")
    return value


def _port(value: int) -> int:
    if value == 0:
        raise ValueError("port 0 is any port, but clients must be told which; choose one")
    if not 1 <= value <= MAX_PORT:
        raise ValueError(f"port {value} is not within 1-{MAX_PORT}; choose another")
    return value


def replication_factor_of(value: int) -> int:
    if value != BROKERS_DEFAULT and not 1 <= value <= MAX_REPLICATION_FACTOR:
        raise ValueError(
            f"replication factor {value} is neither {BROKERS_DEFAULT} (the brokers' default) nor "
            f"within 1-{MAX_REPLICATION_FACTOR}; choose another"
        )
    return value


def _mount(value: str) -> str:
    """Normalize a mount's path, written ``la:tracking``, ``:la:tracking`` or ``/la/tracking``."""
    path = value.replace("/", DELIMITER) if DELIMITER not in value else value
    path = path.removeprefix(DELIMITER)
    for tier in path.split(DELIMITER) if path else ():
        if not TIER.match(tier):
            raise ValueError(
                f"tier '{tier or '(empty)'}' of path '{value}' is not one or more of"
                " [a-zA-Z0-9.-]; write it like la:tracking"
            )
    return path


def _fleet_url(value: str) -> str:
    """Check a URL with a place for a gateway's id, and without user, query or fragment."""
    address = urlsplit(value)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(
            f"'{value}' is no URL; write it like https://{GATEWAY_ID}.example.org:9404"
        )
    if GATEWAY_ID not in value:
        raise ValueError(f"'{value}' is one page for all; say where {GATEWAY_ID} stands in it")
    if "@" in address.netloc or address.query or address.fragment:
        raise ValueError(f"'{value}' has more than host, port and path; remove that")
    return value


BootstrapServer = Annotated[Address, PlainValidator(parse_address), PlainSerializer(str)]
NodeId = Annotated[str, BeforeValidator(_node_id_text)]
NodeIds = Annotated[tuple[NodeId, ...], AfterValidator(_node_ids)]
Name = Annotated[str, AfterValidator(_name)]
Namespace = Annotated[str, AfterValidator(namespace_of)]
Mount = Annotated[str, AfterValidator(_mount)]
TreeNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
Host = Annotated[str, Field(min_length=1, max_length=253)]
Port = Annotated[int, AfterValidator(_port)]
IpAddress = Annotated[str, AfterValidator(_ip_address)]
ConnectionCount = Annotated[int, Field(ge=0, le=UNLIMITED)]
FleetUrl = Annotated[str, Field(max_length=500), AfterValidator(_fleet_url)]
Directory = Annotated[Path, Field(strict=False)]
