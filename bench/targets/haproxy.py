"""HAProxy in TCP mode: what it costs to pass bytes on and know nothing of them."""

from __future__ import annotations

from pathlib import Path

from bench.targets.haproxy_program import haproxy_command
from bench.targets.listening import accepts
from bench.targets.target import Target, TargetError
from devkit.ports import free_port
from devkit.process import ManagedProcess
from devkit.waiting import DeadlineError, wait_until

_START_SECONDS = 60.0

# Debian's defaults, one thread; timeouts are long, so that idle connections stay.
_CONFIG = """\
global
    nbthread 1
    maxconn 8192

defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h

frontend kafka
    bind 127.0.0.1:{port}{tls}
    default_backend kafka

backend kafka
    server broker {broker}
"""


class HAProxy(Target):
    """The base of all ratios. With ``certificate`` (PEM, and its key) clients come over TLS."""

    name = "haproxy"
    title = "HAProxy, TCP mode"

    def __init__(
        self, directory: Path, certificate: Path | None = None, port: int | None = None
    ) -> None:
        """``port``: it has to be that one, since the broker tells it to clients."""
        self._directory = directory
        self._certificate = certificate
        self._port = port or free_port()
        self._process: ManagedProcess | None = None

    def start(self, broker: str) -> None:
        """Start it in the foreground of a process of its own."""
        config = haproxy_config(broker, self._port, self._certificate)
        name = "haproxy" if self._certificate is None else "haproxy-tls"
        self._process = start_haproxy(self._directory, name, config, self._port)

    def stop(self) -> None:
        """Kill it: it has no state."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    @property
    def port(self) -> int:
        """HAProxy's only port."""
        return self._port

    def processes(self) -> list[int]:
        """The one process; it forks no workers with ``-db``."""
        assert self._process is not None
        return [self._process.command_pid]

    def leader_port(self, advertised: int) -> int:
        """HAProxy's own port: it does not rewrite the addresses in responses."""
        return self._port


def haproxy_config(broker: str, port: int, certificate: Path | None = None) -> str:
    """A configuration that leads from ``port`` to the broker."""
    tls = "" if certificate is None else f" ssl crt {certificate}"
    return _CONFIG.format(port=port, broker=broker, tls=tls)


def start_haproxy(directory: Path, name: str, config: str, port: int) -> ManagedProcess:
    """Start it and wait until it accepts at ``port``. Raises TargetError."""
    program = haproxy_command()
    path = directory / f"{name}.cfg"
    path.write_text(config)
    process = ManagedProcess(name, [*program, "-db", "-f", str(path)], directory / f"{name}.log")
    try:
        wait_until(lambda: accepts(port), name, _START_SECONDS)
    except DeadlineError as error:
        process.kill()
        raise TargetError(f"{error}\n{process.tail()}") from error
    return process
