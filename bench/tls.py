"""TLS: what it costs that clients come encrypted, beside HAProxy ending the same TLS.

The loads are those of ``bench.wire``, and one more: connections that shake hands.
"""

from __future__ import annotations

import socket
import ssl
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.bars import HANDSHAKES
from bench.generators import GeneratorError, Report
from bench.loads import BULK, PIPELINED, Load, Measures, loads
from bench.results import TLS
from bench.subject import Subject
from bench.targets.encrypted import SERVER_NAME, Encrypted
from bench.targets.gateway import gateway_with_names, gateway_with_topic_ids
from bench.targets.haproxy import HAProxy
from bench.targets.target import Target
from bench.wire import Outcome, Plan, Say, run
from devkit.certificates import Authority, Credentials

_HANDSHAKES: Final = 300
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Handshakes(Load):
    """``count`` clients, one after the other: TCP, TLS without a session of before, ApiVersions
    and Metadata once, the end."""

    count: int

    @property
    def kept_apart(self) -> bool:
        """Its CPU time counts."""
        return True

    def run(self, subject: Subject, share: float = 1.0) -> Report:
        """Connect. Raises GeneratorError when a connection fails."""
        target = subject.target
        assert isinstance(target, Encrypted)
        context = ssl.create_default_context(cafile=target.authority)
        greeting = subject.greeting.read_bytes()
        count = max(1, round(self.count * share))
        began = time.perf_counter()
        try:
            for _ in range(count):
                _greet(context, target.encrypted_port, greeting)
        except OSError as error:
            raise GeneratorError(f"{self.name} on {target.name}: {error}") from error
        seconds = time.perf_counter() - began
        return Report(count, seconds, 0, 0, seconds / count * 1e6, 0.0, 0.0, 0.0)

    def measures(self, report: Report, cpu: float) -> Measures:
        """CPU microseconds a connection, and connections a second."""
        return {"cpu": cpu / report.requests * 1e6, "rate": report.requests / report.seconds}


def _greet(context: ssl.SSLContext, port: int, greeting: bytes) -> None:
    """Connect, ask, and wait for the answers to both requests."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as tcp,
        context.wrap_socket(tcp, server_hostname=SERVER_NAME) as tls,
    ):
        tls.sendall(greeting)
        received = b""
        for _ in range(2):
            while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
                data = tls.recv(65_536)
                if not data:
                    raise ConnectionError("closed before it had answered")
                received += data
            received = received[4 + int.from_bytes(received[:4], "big") :]


def tls_loads(bulk_gib: float) -> tuple[Load, ...]:
    """The loads whose CPU time counts: latency would include the converter's."""
    counted = {*BULK, *PIPELINED}
    wire = (load for load in loads(bulk_gib) if load.name in counted)
    return (*wire, Handshakes(HANDSHAKES, "", _HANDSHAKES))


def tls_targets(authority: Path, server: Credentials) -> dict[str, Callable[[Path], Target]]:
    """The targets by name, in the order of the table; all show the same certificate."""
    tls = {"certificate": str(server.certificate), "key": str(server.key)}
    security: dict[str, Any] = {"security_protocol": "SSL", "tls": tls}
    inner: dict[str, Callable[[Path], Target]] = {
        "haproxy": lambda directory: HAProxy(directory, server.both),
        "gateway-ids": lambda _: gateway_with_topic_ids(security=security),
        "gateway-names": lambda _: gateway_with_names(security=security),
        "gateway-ids-compiled": lambda _: gateway_with_topic_ids(compiled=True, security=security),
        "gateway-names-compiled": lambda _: gateway_with_names(compiled=True, security=security),
    }

    def encrypted(make: Callable[[Path], Target]) -> Callable[[Path], Target]:
        return lambda directory: Encrypted(make(directory), authority, directory)

    return {f"{name}{TLS}": encrypted(make) for name, make in inner.items()}


def run_tls(plan: Plan, say: Say) -> Outcome:
    """Measure. Of ``plan.targets`` those count that there are with TLS.

    Raises what ``bench.wire.run`` raises.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-tls-")))
        authority = Authority(directory)
        targets = tls_targets(authority.file, authority.server())
        wanted = [f"{name}{TLS}" for name in plan.targets]
        chosen = [name for name in targets if name in wanted]
        return run(replace(plan, targets=chosen), say, targets, tls_loads(plan.bulk_gib))
