"""A target whose clients come over TLS, with load generators that speak none.

Between the two stands an HAProxy that takes plain text and speaks TLS to the target. It runs where
the generators run, and what it costs is not counted: only the target's processes are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.results import TLS
from bench.targets.haproxy import start_haproxy
from bench.targets.target import Target
from devkit.ports import free_port
from devkit.process import ManagedProcess

SERVER_NAME: Final = "localhost"

# One suite for all, the one that Java's clients ask for first; no session is used twice, so that
# every connection pays for its handshake.
_CONFIG = """\
global
    nbthread 1
    maxconn 8192
    ssl-default-server-options ssl-min-ver TLSv1.3
    ssl-default-server-ciphersuites TLS_AES_256_GCM_SHA384

defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
"""
_WAY = """\

frontend plain-{plain}
    bind 127.0.0.1:{plain}
    default_backend encrypted-{port}

backend encrypted-{port}
    server target 127.0.0.1:{port} ssl verify required ca-file {ca} sni str({name}) no-ssl-reuse
"""


class Encrypted(Target):
    """``inner``, which is to be started by this; ``authority`` (PEM) has issued its certificate."""

    def __init__(self, inner: Target, authority: Path, directory: Path) -> None:
        self.name = f"{inner.name}{TLS}"
        self.title = f"{inner.title}, TLS"
        self.versions = inner.versions
        self.authority = authority
        self._inner = inner
        self._directory = directory
        self._plain: dict[int, int] = {}
        self._converter: ManagedProcess | None = None

    def start(self, broker: str) -> None:
        """Start the target, then what stands before it."""
        self._inner.start(broker)
        self._plain = {port: free_port() for port in self._inner.ports}
        config = converter_config(self._plain, self.authority)
        name = f"converter-{self.name}"
        self._converter = start_haproxy(self._directory, name, config, self.port)

    def stop(self) -> None:
        """End both."""
        if self._converter is not None:
            self._converter.kill()
            self._converter = None
        self._inner.stop()

    @property
    def port(self) -> int:
        """The port that accepts plain text for the target's bootstrap port."""
        return self._plain[self._inner.port]

    @property
    def encrypted_port(self) -> int:
        """The target's own bootstrap port, which speaks TLS."""
        return self._inner.port

    def processes(self) -> list[int]:
        """The target's alone."""
        return self._inner.processes()

    def helpers(self) -> list[int]:
        """The converter processes in front of the target."""
        assert self._converter is not None
        return [self._converter.command_pid]

    def leader_port(self, advertised: int) -> int:
        """The port that accepts plain text for the leader's port."""
        return self._plain[self._inner.leader_port(advertised)]


def converter_config(plain: dict[int, int], authority: Path) -> str:
    """Takes plain text for each port of a target; ``plain`` says where."""
    ways = (
        _WAY.format(plain=taken, port=port, ca=authority, name=SERVER_NAME)
        for port, taken in plain.items()
    )
    return _CONFIG + "".join(ways)
