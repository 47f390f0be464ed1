"""Which ports cannot be had: by binding them, all at once, as the workers will.

Workers share their ports (SO_REUSEPORT), so a second gateway on the same ports would start
without an error and take half of the connections. Binding without that option finds it.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from contextlib import ExitStack

from gateway.config.errors import Problem
from gateway.config_file.rules import PortClaim


def probe(claims: Iterable[PortClaim]) -> list[Problem]:
    """A problem for each claim with ports that cannot be bound. Nothing stays bound."""
    problems: list[Problem] = []
    with ExitStack() as bound:
        for claim in claims:
            refused: dict[str, list[int]] = {}
            for port in range(claim.first, claim.last + 1):
                reason = _bind(claim.host, port, bound)
                if reason is not None:
                    refused.setdefault(reason, []).append(port)
            for reason, ports in refused.items():
                problems.append(Problem(claim.key, _sentence(claim, reason, ports)))
    return problems


def _sentence(claim: PortClaim, reason: str, ports: list[int]) -> str:
    shown = ", ".join(map(str, ports[:8])) + (", ..." if len(ports) > 8 else "")
    noun = "port" if len(ports) == 1 else "ports"
    return (
        f"{claim.text} cannot be bound on '{claim.host}': {noun} {shown}: {reason}; "
        "free them or choose others"
    )


def _bind(host: str, port: int, bound: ExitStack) -> str | None:
    """None, or why not."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        return f"{error.strerror}".lower()
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            listener = bound.enter_context(socket.socket(family, kind, protocol))
            # As servers do: connections of an earlier listener that still close do not count.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return "address already in use"
            if error.errno == errno.EAFNOSUPPORT and len(found) > 1:
                continue
            return f"{error.strerror or error}".lower()
    return None
