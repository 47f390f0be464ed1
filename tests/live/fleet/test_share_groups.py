"""Members of share groups go on at the other gateway when one is stopped or killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created
from tests.live.fleet.test_killed_gateways import killed, stopped
from tests.live.support import clients, share_workers
from tests.live.support.share_workers import Member, Outcome, ShareWorkers

pytestmark = pytest.mark.long("kills")

BEFORE: Final = 40
"""Records that are accepted before each end of a gateway, and after it."""

PACE: Final = {"max.poll.records": "5"}


class Producer:
    """Produces to a topic until it is stopped, so that members hold records whenever a gateway
    ends. ``values`` are those that were produced; every tenth is released once."""

    def __init__(self, servers: str, topic: str) -> None:
        self.values: list[str] = []
        self._stop = Event()
        self._thread = Thread(target=self._run, args=(servers, topic))

    def _run(self, servers: str, topic: str) -> None:
        while not self._stop.wait(0.2):
            first = len(self.values)
            made = [str(number) for number in range(first, first + 9)]
            made.append(f"again-{first}")
            share_workers.produce(servers, topic, made)
            self.values += made

    def __enter__(self) -> Producer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def worked(
    kafka: KafkaCluster,
    servers: str,
    topic: str,
    directory: Path,
    meanwhile: Callable[[ShareWorkers], None],
) -> tuple[Outcome, set[str], ShareWorkers]:
    """Let two members take all records of a topic, and something else happen meanwhile; what became
    of the records, their values, and the members."""
    share_workers.from_the_beginning(kafka, topic)
    names = (f"{topic}-1", f"{topic}-2")
    members = [Member(name, servers, topic, (topic,), 0, 100, PACE) for name in names]
    with share_workers.share_workers(directory, *members) as workers:
        with Producer(kafka.bootstrap_servers, topic) as producer:
            workers.await_more(topic, "accept", BEFORE)
            meanwhile(workers)
        share_workers.await_done(kafka, topic, topic)
    return workers.outcome(topic), {*producer.values}, workers


@pytest.mark.parametrize("ends", [stopped, killed])
def test_members_go_on_at_the_other_gateway(
    ends: Callable[[GatewayProcess], None], gateways: Gateways, own: KafkaCluster, tmp_path: Path
) -> None:
    """Both gateways end in turn. Nothing is lost, and nothing that was accepted is given out again,
    as if nothing had ended: that is what the members direct at the broker see."""
    topic, plain = f"queue-{ends.__name__}", f"plain-{ends.__name__}"
    servers = created(gateways, topic)
    clients.create(own.bootstrap_servers, plain)

    def end_both(workers: ShareWorkers) -> None:
        for gateway in gateways:
            ends(gateway)
            try:
                accepted = len(workers.values(topic, "accept"))
                workers.await_more(topic, "accept", accepted + BEFORE)
            finally:
                gateway.start_again()
            wait_until(
                lambda gateway=gateway: gateway.get("/readyz")[0] == 200,  # type: ignore[misc]
                "the gateway to serve again",
                clients.SECONDS,
            )

    here, values, workers = worked(own, servers, topic, tmp_path, end_both)
    there, plain_values, _ = worked(own, own.bootstrap_servers, plain, tmp_path, lambda _: None)
    assert there == Outcome(frozenset(plain_values), frozenset())
    assert here.again == frozenset()
    lost = values - here.accepted
    assert lost <= workers.values(topic, "failed") | workers.values(topic, "unanswered"), "lost"
    assert workers.values(topic, "take") == values
    assert workers.errors(topic) == set()
