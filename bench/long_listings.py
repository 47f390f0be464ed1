"""What a request for all topics costs the gateway, for each topic: whether that is linear.

``python -m bench.long_listings`` prints the table; ``--record`` appends it to RESULTS.md. CPU
microseconds of the worker for each topic, of a request (Metadata v12) by a client that logged in,
whom an ACL lets list every topic. A relay before a real broker adds the topics to its response
(:mod:`bench.many_topics`), because no broker of a small machine holds so many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from bench.catalog_rows import CatalogRow, print_table
from bench.client import AnswerError, Client, parse_response, port_of
from bench.entities import request_frame
from bench.many_topics import Differs, ManyTopics
from bench.usage import cpu_seconds
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import runtime_python
from devkit.waiting import wait_until

SIZES: Final = (1_000, 10_000, 100_000)
"""Topics that the broker lists, besides its own."""

TRIES: Final = 5
_VERSION: Final = 12
_BEFORE_IDS: Final = 9
"""A version without topic ids, for which the gateway reads the cluster's topics first."""

_ADMIN: Final = "admin"
_PASSWORD: Final = "the-password-of-all"  # noqa: S105 - of a gateway that runs for a minute
_NAMESPACE: Final = "bench"
_LISTENER: Final = "users"
_SETTLE: Final = 0.1
"""Seconds after a response until the CPU time is read: the worker frees what it made."""

_REPORT: Final = 1.2
"""Seconds in which a worker reports once what it has counted, and by which ACLs."""

_KNOWN_SECONDS: Final = 120.0
_TOPIC, _PREFIXED, _DESCRIBE, _ALLOW = 2, 4, 8, 3
"""ResourceType, PatternType, AclOperation and AclPermissionType."""

_UNIT: Final = "CPU us/topic"


def measure(sizes: Sequence[int], say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on.

    Raises AnswerError, BrokerError and GatewayError.
    """
    users = [_ADMIN, *(f"user-{size}-{number}" for size in sizes for number in range(TRIES))]
    with (
        ManyTopics() as relay,
        KafkaCluster(
            quick_start=False,
            overrides={"advertised.listeners": f"PLAINTEXT://{relay.address}"},
        ) as kafka,
        tempfile.TemporaryDirectory(prefix="bench-users-") as secrets,
    ):
        relay.upstream = port_of(kafka.bootstrap_servers)
        with _gateway(relay.address, users, Path(secrets)) as gateway:
            port = port_of(gateway.bootstrap_servers(_LISTENER))
            (worker,) = psutil.Process(gateway.process.command_pid).children()
            _allow_listing(port)
            for size in sizes:
                say(f"all of {size:,} topics")
                relay.topics, relay.differs = size, Differs.NOTHING
                try:
                    yield from _listings(relay, port, worker.pid, size)
                except AnswerError:
                    say(gateway.log())
                    raise


def _gateway(brokers: str, users: Sequence[str], secrets: Path) -> GatewayProcess:
    file = secrets / "password"
    file.write_text(_PASSWORD)
    sasl = {"mechanisms": ["PLAIN"], "users": {user: {"file": str(file)} for user in users}}
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    return GatewayProcess(
        brokers,
        [Listener(_LISTENER, "users log in", security=security)],
        [_NAMESPACE],
        overrides={"authorization": {"super.users": [f"User:{_ADMIN}"]}},
        python_path=PROJECT_ROOT,
        interpreter=runtime_python(),
    )


def _listings(relay: ManyTopics, port: int, worker: int, size: int) -> Iterator[CatalogRow]:
    with Client(port) as client:
        _log_in(client, _ADMIN)
        # From here on no topic is new to the gateway.
        wait_until(lambda: _listed(client, _BEFORE_IDS) >= size, f"{size:,} topics", _KNOWN_SECONDS)

    def row(what: str, took: Sequence[float]) -> CatalogRow:
        return CatalogRow(f"all of {size:,} topics, {what}", _UNIT, median(took) / size * 1e6)

    first, reported, again = [], [], []
    for number in range(TRIES):
        with Client(port) as client:
            _log_in(client, f"user-{size}-{number}")
            time.sleep(_REPORT)
            idle = _passing(worker)
            first.append(_cpu(client, worker))
            reported.append(max(_passing(worker) - idle, 0.0))
            again.append(_cpu(client, worker))
    yield row("the first time", first)
    yield row("the worker's report behind it", reported)
    yield row("again", again)
    with Client(port) as client:
        _log_in(client, f"user-{size}-0")
        for differs in (Differs.EPOCH, Differs.TOPIC):
            relay.differs = differs
            took = [_cpu(client, worker) for _ in range(TRIES)]
            yield row(f"again, {differs.value} differs", took)


def _cpu(client: Client, worker: int) -> float:
    """The worker's CPU seconds for a listing."""
    time.sleep(_SETTLE)
    began = cpu_seconds([worker])
    client.exchange(request_frame("MetadataRequest", _VERSION, {"topics": None}))
    time.sleep(_SETTLE)
    return cpu_seconds([worker]) - began


def _passing(worker: int) -> float:
    """The worker's CPU seconds while no client does anything."""
    began = cpu_seconds([worker])
    time.sleep(_REPORT)
    return cpu_seconds([worker]) - began


def _listed(client: Client, version: int) -> int:
    request = request_frame("MetadataRequest", version, {"topics": None})
    return len(parse_response(request, client.exchange(request)).topics)


def _log_in(client: Client, user: str) -> None:
    client.ask("SaslHandshakeRequest", 1, {"mechanism": "PLAIN"})
    proof = {"auth_bytes": f"\0{user}\0{_PASSWORD}".encode()}
    answer = client.ask("SaslAuthenticateRequest", 2, proof)
    if answer.error_code:
        raise AnswerError(f"{user} may not log in: {answer.error_message}")


def _allow_listing(port: int) -> None:
    creation = {
        "resource_type": _TOPIC,
        "resource_name": f"{_NAMESPACE}:",
        "resource_pattern_type": _PREFIXED,
        "principal": "User:*",
        "host": "*",
        "operation": _DESCRIBE,
        "permission_type": _ALLOW,
    }
    with Client(port) as client:
        _log_in(client, _ADMIN)
        answer = client.ask("CreateAclsRequest", 3, {"creations": [creation]})
    if answer.results[0].error_code:
        raise AnswerError(f"no ACL was made: {answer.results[0].error_message}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_listings", description=__doc__)
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    parser.add_argument("--topics", type=int, nargs="+", default=SIZES, help="how many are listed")
    arguments = parser.parse_args()
    print_table(partial(measure, arguments.topics), "all topics", record=arguments.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
