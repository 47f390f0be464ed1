"""The other end of a socket, and a client behind another gateway, as text."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

PEERS: Final = "peers"
"""The name of the port for other gateways of the tree, as a listener: in logs, counts, events."""

_NETWORK_BITS: Final = 64
"""Bits of an IPv6 address that name its network: a client that has an address has all of its
network."""


def address_text(peer: object) -> str:
    """``host:port`` of a socket address; IPv6 hosts in brackets."""
    if not isinstance(peer, tuple) or len(peer) < 2:
        return "unknown"
    host, port = peer[:2]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def host_text(peer: object) -> str:
    """The IP address of a socket address in the form of ACLs; an IPv4 address also when it came
    over an IPv6 socket."""
    if not isinstance(peer, tuple) or len(peer) < 2:
        return ""
    return str(peer[0]).removeprefix("::ffff:")


def network_of(host: str) -> str:
    """The address that shares are counted by: an IPv4 address, or the network of an IPv6
    address."""
    if ":" not in host:
        return host
    address = ip_address(host)
    assert isinstance(address, IPv6Address)
    return str(IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS))


def address_by_peer(host: str, peer: str) -> str:
    """The address of a client whose request came by a peer, another gateway of the tree: its IP
    address, if known, without a port.

    >>> address_by_peer("192.0.2.7", "la-gateway")
    '192.0.2.7 (peer la-gateway)'
    """
    return f"{host or 'unknown'} (peer {peer})"
