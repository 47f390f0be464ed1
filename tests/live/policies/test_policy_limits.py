"""Limits that count, with all clients creating at the same time: exactly the allowed topics are
created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.fixtures import own_gateway
from tests.live.support.wire import Wire

Names = Callable[[str], str]

WORKERS = 3
CLIENTS = 100
CREATES = 10
"""Topics that each client creates: 1,000 in all, a hundred of them at any moment."""

LIMIT = 100
NONE, POLICY_VIOLATION = 0, 44


LIMITS = {"limited": {"max_topics": LIMIT}, "tree": {"max_partitions_in_tree": 10}}
gateway = own_gateway(
    namespaces=["limited", "tree:a", "tree:b"], workers=WORKERS, policies={"namespaces": LIMITS}
)


def _create(wire: Wire, name: str, partitions: int = 1) -> tuple[int, str]:
    topic = {"name": name, "num_partitions": partitions, "replication_factor": -1}
    timeout = timedelta(seconds=clients.SECONDS)
    (answer,) = wire.ask("CreateTopics", 5, topics=[topic], timeout=timeout).topics
    return int(answer.error_code), answer.error_message or ""


def test_a_thousand_at_once_against_a_hundred(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    servers, stem = gateway.bootstrap_servers("colon"), unique("t")

    def run(client: int) -> list[tuple[int, str]]:
        with Wire(servers) as wire:
            return [_create(wire, f"limited:{stem}-{client}-{n}") for n in range(CREATES)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = [answer for told in pool.map(run, range(CLIENTS)) for answer in told]
    assert Counter(code for code, _ in answers) == {
        NONE: LIMIT,
        POLICY_VIOLATION: CLIENTS * CREATES - LIMIT,
    }
    rejections = {text for code, text in answers if code}
    assert all("max_topics" in text and "namespace 'limited'" in text for text in rejections)

    def made() -> list[str]:
        return sorted(flat for flat in kafka.topics() if flat.startswith("limited.."))

    wait_until(lambda: len(made()) >= LIMIT, "the topics on the broker", clients.SECONDS)
    assert len(made()) == LIMIT
    # If a topic is deleted, another can be created, whichever worker responds.
    gone = made()[0]
    clients.done(clients.admin(servers).delete_topics([gone.replace("..", ":")]))
    clients.await_gone(kafka, gone)
    with Wire(servers) as wire:
        assert _create(wire, f"limited:{stem}-again")[0] == NONE
    with Wire(servers) as wire:
        assert _create(wire, f"limited:{stem}-once-more")[0] == POLICY_VIOLATION


def test_partitions_of_a_tree(gateway: GatewayProcess, unique: Names) -> None:
    servers = gateway.bootstrap_servers("colon")
    with Wire(servers) as one, Wire(servers) as other:
        assert _create(one, f"tree:a:{unique('x')}", 6)[0] == NONE
        code, text = _create(other, f"tree:b:{unique('x')}", 5)
        assert code == POLICY_VIOLATION
        assert "would have 11 partitions, and at most 10 are allowed" in text
        assert _create(other, f"tree:b:{unique('x')}", 4)[0] == NONE
