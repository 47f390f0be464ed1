"""What holding requests costs a client that sends them ahead, behind a Fetch that waits.

``python -m bench.behind_fetch`` prints the table; ``--record`` appends it to RESULTS.md. A broker
begins with a request when the Fetch before it is answered, and the gateway decides it no earlier.
So each request behind it takes a way to the broker and back, one after the other, where a broker
alone has them at hand. Microseconds from the end of the Fetch's response to the last one's.
"""

from __future__ import annotations

import argparse
import datetime
import socket
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

from kio.static.primitive import i32Timedelta

from bench.catalog_rows import CatalogRow, print_table
from bench.client import HOST, AnswerError, Client
from bench.entities import request_frame
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import runtime_python
from protocol.headers import SIZE_PREFIX

BEHIND: Final = (1, 4, 16)
"""Requests that are sent at once with the Fetch."""

TRIES: Final = 200
_WAIT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=20))
_LISTENERS: Final = (Listener("bench", "every namespace"),)
_TOPICS: Final = {"a broker alone": "behind", "the gateway": "bench:behind"}
_CONFIGS: Final[dict[str, str]] = {}


def measure(say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on."""
    with KafkaCluster(quick_start=False) as kafka:
        brokers = kafka.bootstrap_servers
        with GatewayProcess(
            brokers, _LISTENERS, ["bench"], python_path=PROJECT_ROOT, interpreter=runtime_python()
        ) as gateway:
            addresses = dict(
                zip(_TOPICS, (brokers, gateway.bootstrap_servers("bench")), strict=True)
            )
            for behind in BEHIND:
                for name, address in addresses.items():
                    say(f"behind a Fetch: {behind} at {name}")
                    port = int(address.partition(",")[0].rpartition(":")[2])
                    took = behind_fetch(port, _TOPICS[name], behind)
                    yield CatalogRow(f"{behind} behind a Fetch, {name}", "us", took)


def behind_fetch(port: int, topic: str, behind: int) -> float:
    """The median of the microseconds between a Fetch's response and the last one's behind it."""
    with Client(port) as client:
        client.create_topic(topic, 1, _CONFIGS)
    fetched = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_048_576}
    values = {
        "max_wait": _WAIT,
        "min_bytes": 1,
        "max_bytes": 1_048_576,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [fetched]}],
    }
    metadata = {"topics": [{"name": topic}]}
    asked = [
        request_frame("FetchRequest", 12, values),
        *[request_frame("MetadataRequest", 9, metadata)] * behind,
    ]
    with socket.create_connection((HOST, port), timeout=60.0) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return median(_once(connection, asked) for _ in range(TRIES)) * 1e6


def _once(connection: socket.socket, asked: list[bytes]) -> float:
    sent = time.perf_counter()
    connection.sendall(b"".join(asked))
    _receive_frame(connection)
    began = time.perf_counter()
    if began - sent < _WAIT.total_seconds() / 2:
        raise AnswerError("the Fetch did not wait")
    for _ in asked[1:]:
        _receive_frame(connection)
    return time.perf_counter() - began


def _receive_frame(connection: socket.socket) -> None:
    (size,) = SIZE_PREFIX.unpack(_receive(connection, SIZE_PREFIX.size))
    _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytes:
    got = connection.recv(size, socket.MSG_WAITALL)
    if len(got) < size:
        raise AnswerError("the connection has ended")
    return got


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.behind_fetch", description=__doc__)
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    arguments = parser.parse_args()
    print_table(measure, "behind a waiting Fetch", record=arguments.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
