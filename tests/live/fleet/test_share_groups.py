"""Members of share groups go on at the other gateway when one is stopped or killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
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

VALUES: Final = [*(f"again-{number}" for number in range(10)), *map(str, range(290))]
BEFORE: Final = 40
"""Records that are accepted before each end of a gateway."""

PACE: Final = {"max.poll.records": "5"}


def worked(
    kafka: KafkaCluster,
    servers: str,
    topic: str,
    directory: Path,
    meanwhile: Callable[[ShareWorkers], None],
) -> tuple[Outcome, ShareWorkers]:
    """Let two members take all records of a topic, and something else happen meanwhile."""
    share_workers.from_the_beginning(kafka, topic)
    share_workers.produce(servers, topic, VALUES)
    names = (f"{topic}-1", f"{topic}-2")
    members = [Member(name, servers, topic, (topic,), 0, 100, PACE) for name in names]
    with share_workers.share_workers(directory, *members) as workers:
        workers.await_more(topic, "accept", BEFORE)
        meanwhile(workers)
        share_workers.await_done(kafka, topic, topic)
    return workers.outcome(topic), workers


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
            accepted = len(workers.values(topic, "accept"))
            assert accepted < len(VALUES), "it was over before the gateway ended"
            workers.await_more(topic, "accept", min(accepted + BEFORE, len(VALUES) - 1))
            gateway.start_again()
            wait_until(
                lambda gateway=gateway: gateway.get("/readyz")[0] == 200,  # type: ignore[misc]
                "the gateway to serve again",
                clients.SECONDS,
            )

    here, workers = worked(own, servers, topic, tmp_path, end_both)
    there, _ = worked(own, own.bootstrap_servers, plain, tmp_path, lambda _: None)
    assert there == Outcome(frozenset(VALUES), frozenset())
    assert here.again == frozenset()
    assert frozenset(VALUES) - here.accepted <= workers.values(topic, "failed"), "lost"
    assert workers.values(topic, "take") == {*VALUES}
    assert workers.errors(topic) == set()
