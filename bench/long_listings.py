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
from contextlib import contextmanager
from dataclasses import dataclass
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
VERSION: Final = 12
_BEFORE_IDS: Final = 9
"""A version without topic ids, for which the gateway reads the cluster's topics first."""

_ADMIN: Final = "admin"
_PASSWORD: Final = "the-password-of-all"  # noqa: S105 - of a gateway that runs for a minute
NAMESPACE: Final = "bench"
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
    users = [f"user-{size}-{number}" for size in sizes for number in range(TRIES)]
    with listing_gateway(users) as at:
        for size in sizes:
            say(f"all of {size:,} topics")
            try:
                yield from _listings(at, size)
            except AnswerError:
                say(at.gateway.log())
                raise


@dataclass(frozen=True, slots=True)
class ListingGateway:
    """A gateway before a relay before a broker, with one worker: its process id. ``port`` is the
    gateway's, for clients that log in; ``broker_port`` the broker's own."""

    relay: ManyTopics
    broker_port: int
    gateway: GatewayProcess
    port: int
    worker: int

    def show(self, size: int) -> None:
        """Let the broker list so many topics more, and wait until no topic is new to the
        gateway."""
        self.relay.differs = Differs.NOTHING
        with self.logged_in(_ADMIN) as client:
            if not self.relay.topics:
                for version in (_BEFORE_IDS, VERSION):  # what the relay makes responses of
                    _listed(client, version)
            self.relay.show(size)
            what = f"{size:,} topics"
            wait_until(lambda: _listed(client, _BEFORE_IDS) >= size, what, _KNOWN_SECONDS)

    @contextmanager
    def logged_in(self, user: str) -> Iterator[Client]:
        """A client that has logged in."""
        with Client(self.port) as client:
            _log_in(client, user)
            yield client

    def listing_seconds(self, client: Client) -> float:
        """The worker's CPU seconds for a listing."""
        time.sleep(_SETTLE)
        began = cpu_seconds([self.worker])
        client.exchange(request_frame("MetadataRequest", VERSION, {"topics": None}))
        time.sleep(_SETTLE)
        return cpu_seconds([self.worker]) - began

    def idle_seconds(self) -> float:
        """The worker's CPU seconds while no client does anything."""
        began = cpu_seconds([self.worker])
        time.sleep(_REPORT)
        return cpu_seconds([self.worker]) - began


@contextmanager
def listing_gateway(users: Sequence[str]) -> Iterator[ListingGateway]:
    """Start them; an ACL lets all users list every topic."""
    with (
        ManyTopics() as relay,
        KafkaCluster(
            quick_start=False,
            overrides={"advertised.listeners": f"PLAINTEXT://{relay.address}"},
        ) as kafka,
        tempfile.TemporaryDirectory(prefix="bench-users-") as secrets,
    ):
        relay.upstream = port_of(kafka.bootstrap_servers)
        with _gateway(relay.address, [_ADMIN, *users], Path(secrets)) as gateway:
            port = port_of(gateway.bootstrap_servers(_LISTENER))
            (worker,) = psutil.Process(gateway.process.command_pid).children()
            _allow_listing(port)
            yield ListingGateway(relay, relay.upstream, gateway, port, worker.pid)


def _gateway(brokers: str, users: Sequence[str], secrets: Path) -> GatewayProcess:
    file = secrets / "password"
    file.write_text(_PASSWORD)
    sasl = {"mechanisms": ["PLAIN"], "users": {user: {"file": str(file)} for user in users}}
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}
    return GatewayProcess(
        brokers,
        [Listener(_LISTENER, "users log in", security=security)],
        [NAMESPACE],
        overrides={"authorization": {"super.users": [f"User:{_ADMIN}"]}},
        python_path=PROJECT_ROOT,
        interpreter=runtime_python(),
    )


def _listings(at: ListingGateway, size: int) -> Iterator[CatalogRow]:
    def row(what: str, took: Sequence[float]) -> CatalogRow:
        return CatalogRow(f"all of {size:,} topics, {what}", _UNIT, median(took) / size * 1e6)

    at.show(size)
    first, reported, again = [], [], []
    for number in range(TRIES):
        with at.logged_in(f"user-{size}-{number}") as client:
            time.sleep(_REPORT)
            idle = at.idle_seconds()
            first.append(at.listing_seconds(client))
            reported.append(max(at.idle_seconds() - idle, 0.0))
            again.append(at.listing_seconds(client))
    yield row("the first time", first)
    yield row("the worker's report behind it", reported)
    yield row("again", again)
    with at.logged_in(f"user-{size}-0") as client:
        for differs in (Differs.EPOCH, Differs.TOPIC):
            at.relay.differs = differs
            took = [at.listing_seconds(client) for _ in range(TRIES)]
            yield row(f"again, {differs.value} differs", took)


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
        "resource_name": f"{NAMESPACE}:",
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
