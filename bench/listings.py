"""What a request for all topics costs a client, beside a broker alone.

``python -m bench.listings`` prints the table; ``--record`` appends it to RESULTS.md. Milliseconds
from the request (Metadata v12) to the last byte of its response, twenty a second, and while
another client creates and deletes a topic again and again.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Final

from kio.static.primitive import i32Timedelta

from bench.catalog_rows import CatalogRow, print_table
from bench.client import AnswerError, Client, parse_response, port_of
from bench.entities import request_frame
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import runtime_python
from protocol.schema import error_name

SIZES: Final = (1_000, 10_000)
"""Topics of the cluster."""

OWN: Final = 10
"""Topics of the home."""

TRIES: Final = 50
_APART: Final = 0.05
"""Seconds between two listings: clients request one each few minutes, and the catalog is read once
in 20 ms at most, for all who wait."""

_BATCH: Final = 500
_VERSION: Final = 12
_LISTENERS: Final = (
    Listener("all", "every namespace"),
    Listener("home", "a home of few topics", home="few"),
)
_NAMESPACES: Final = ("bench", "few")
_UNKNOWN_TOPIC: Final = 3
_DELETE: Final = i32Timedelta.parse(datetime.timedelta(seconds=60))


def measure(sizes: Sequence[int], say: Callable[[str], None]) -> Iterator[CatalogRow]:
    """Every row, in the order of the table; ``say`` is told what goes on."""
    with KafkaCluster(quick_start=False, heap="2g") as kafka:
        brokers = kafka.bootstrap_servers
        with GatewayProcess(
            brokers,
            _LISTENERS,
            _NAMESPACES,
            python_path=PROJECT_ROOT,
            interpreter=runtime_python(),
        ) as gateway:
            addresses = {
                "a broker alone": brokers,
                "the gateway": gateway.bootstrap_servers("all"),
                f"a home of {OWN}": gateway.bootstrap_servers("home"),
            }
            ports = {name: port_of(address) for name, address in addresses.items()}
            create(ports["a broker alone"], [f"few..t{number}" for number in range(OWN)])
            made = OWN
            for size in sizes:
                say(f"creating topics, {size:,} in all")
                create(ports["a broker alone"], [f"bench..t{n}" for n in range(made, size)])
                made = size
                for name, port in ports.items():
                    say(f"all of {size:,} topics at {name}")
                    yield CatalogRow(f"all of {size:,} topics, {name}", "ms", listing(port))
                    with coming_and_going(ports["a broker alone"]):
                        took = listing(port)
                    yield CatalogRow(f"all of {size:,} topics that change, {name}", "ms", took)


def create(port: int, names: Sequence[str]) -> None:
    """Create topics of one partition at a broker."""
    with Client(port) as client:
        for at in range(0, len(names), _BATCH):
            topics = [
                {"name": name, "num_partitions": 1, "replication_factor": 1}
                for name in names[at : at + _BATCH]
            ]
            answer = client.ask("CreateTopicsRequest", 6, {"topics": topics})
            failed = [topic for topic in answer.topics if topic.error_code]
            if failed:
                raise AnswerError(f"creating {failed[0].name}: {error_name(failed[0].error_code)}")


def listing(port: int) -> float:
    """The median of the milliseconds of a listing. Raises AnswerError if one has a topic that does
    not exist."""
    request = request_frame("MetadataRequest", _VERSION, {"topics": None})
    with Client(port) as client:
        took = []
        for _ in range(TRIES):
            time.sleep(_APART)
            began = time.perf_counter()
            response = client.exchange(request)
            took.append(time.perf_counter() - began)
            topics = parse_response(request, response).topics
            if any(topic.error_code == _UNKNOWN_TOPIC for topic in topics):
                raise AnswerError(f"port {port} lists a topic that does not exist")
    return median(took) * 1e3


@contextmanager
def coming_and_going(port: int) -> Iterator[None]:
    """A topic is created and deleted at a broker until the block ends."""
    ended = threading.Event()

    def run() -> None:
        with Client(port) as client:
            number = 0
            while not ended.is_set():
                number += 1
                name = f"bench..passing{number}"
                create(port, [name])
                deleted = {"topics": [{"name": name}], "timeout": _DELETE}
                client.ask("DeleteTopicsRequest", 6, deleted)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.listings", description=__doc__)
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    parser.add_argument(
        "--topics", type=int, nargs="+", default=SIZES, help="sizes of the cluster, growing"
    )
    arguments = parser.parse_args()
    print_table(partial(measure, arguments.topics), "all topics", record=arguments.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
