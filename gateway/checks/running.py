"""The gateway that already runs from a configuration's file. ``check`` counts its ports as free: an
operator who upgrades or restarts the gateway checks the file while the gateway still serves.

A supervisor reports at ``/instance`` of its HTTP port the file from which it runs and the ports
that it binds; ``check`` requests this. The file is identified by digests of its path, as written
and with links followed: in Kubernetes the link of a mounted file leads to another file after each
change.

``/instance`` responds only to a request that names the file, with a proof that only this machine's
processes can make. The address of a client proves nothing, because a reverse proxy on this machine
connects from loopback, too, and need not add a header that shows it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.config.models import Config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import hosts_overlap, is_wildcard, port_claims
from gateway.foreign_text import shown_text

PATH: Final = "/instance"

PROOF: Final = "Kafka-Gateway-File"
"""The header of a request with a :func:`proof` for each digest of the file's paths."""

_SECONDS: Final = 2.0
_MOST: Final = 1024 * 1024
_MOST_ID: Final = 64
_OF_THIS_PROCESS: Final = ("/dev/", "/proc/")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""A random id that Linux makes at each boot. Every process of the machine can read it, and no
client on another machine can."""


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that runs from the file that is checked. ``bound``: its addresses, each a host with
    the first and the last port."""

    gateway_id: str
    pid: int
    bound: tuple[tuple[str, int, int], ...]

    def holds(self, host: str, port: int) -> bool:
        """Whether this gateway keeps other processes from binding the port on ``host``."""
        return any(
            first <= port <= last and hosts_overlap(own, host) for own, first, last in self.bound
        )


def instance(config: Config, path: Path | None) -> Mapping[str, object]:
    """The description of this process's supervisor. ``path``: its configuration's file."""
    claims = port_claims(Parts.of(config))
    return {
        "gateway_id": config.gateway_id,
        "pid": os.getpid(),
        "files": [] if path is None else _digests(path),
        "bound": [[claim.host, claim.first, claim.last] for claim in claims],
    }


def proofs(digests: Iterable[object]) -> frozenset[str]:
    """For each digest of a path, a proof that it was made on this machine, since it booted. Empty
    if the system has no boot id (macOS)."""
    try:
        key = _BOOT_ID.read_bytes().strip()
    except OSError:
        return frozenset()
    if not key:
        return frozenset()
    return frozenset(hmac.digest(key, str(one).encode(), "sha256").hex() for one in digests)


def running_gateway(config: Config, path: Path) -> RunningGateway | None:
    """The gateway of this machine that runs from the file ``path`` and has the file's present HTTP
    port, or None."""
    host, port = config.metrics.host, config.metrics.port
    try:
        socket.create_connection((_reachable(host), port), _SECONDS).close()
        told = _ask(host, port, path)
        found = RunningGateway(
            shown_text(told["gateway_id"], _MOST_ID),
            int(told["pid"]),
            tuple((str(own), int(first), int(last)) for own, first, last in told["bound"]),
        )
        return found if {*_digests(path)} & {*told["files"]} else None
    # JSON that is nested too deep raises RecursionError, an infinite number OverflowError.
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None  # nothing, something else, or a version that does not say


def _ask(host: str, port: int, path: Path) -> Any:
    # Imported only if a process listens: it takes longer to load than the rest of ``check``.
    from http.client import HTTPConnection, HTTPException
    from threading import Timer

    asking = HTTPConnection(_reachable(host), port, timeout=_SECONDS)
    asking.connect()
    # The timeout of a socket starts again with each byte.
    ending = Timer(_SECONDS, _shut, [asking.sock])
    ending.start()
    try:
        proof = ",".join(sorted(proofs(_digests(path))))
        headers = {"Host": f"{_reachable(host)}:{port}", PROOF: proof}
        asking.request("GET", PATH, headers=headers)
        answer = asking.getresponse()
        return json.loads(answer.read(_MOST)) if answer.status == 200 else {}
    except HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        ending.cancel()
        asking.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _reachable(host: str) -> str:
    """The address at which this machine itself reaches a port bound to ``host``."""
    if not is_wildcard(host):
        return host
    return "::1" if ":" in host else "127.0.0.1"


def _digests(path: Path) -> list[str]:
    """Digests of a file's paths; empty for a pipe, because another process may have a pipe of the
    same name."""
    whole = path.absolute()
    if str(whole).startswith(_OF_THIS_PROCESS):
        return []
    paths = {os.path.normpath(whole), os.path.realpath(whole)}
    return sorted(hashlib.sha256(os.fsencode(one)).hexdigest() for one in paths)
