"""gateway.processes.pushed_metrics: what workers tell of clients, as a text for Prometheus."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.processes.client_telling import ClientTelling
from gateway.processes.pushed_metrics import PushedMetrics
from gateway.processes.worker_messages import Order
from gateway.processes.worker_process import WorkerProcess, WorkerSlot
from gateway.slices import Turns
from gateway.telemetry.instances import InstanceKey, Owner
from gateway.telemetry.store import Kept, Store
from gateway.telemetry.told import ClientsTold, ClientTold, TellClients
from tests.waiting import eventually

Points = list[tuple[dict[str, str], float]]


def text(points: Points) -> str:
    return json.dumps(
        [[[part for pair in labels.items() for part in pair], n] for labels, n in points]
    )


def client(
    name: str, families: Mapping[str, Points], *, at: float = 1.0, **labels: str
) -> Callable[[int], ClientTold]:
    texts = {family: text(points) for family, points in families.items()}
    return lambda number: ClientTold(number, (name,), {"client_id": name, **labels}, texts, at)


class Worker:
    """A worker that tells of clients as soon as it is asked; ``silent``: it does not."""

    def __init__(self, worker_id: int, *clients: Callable[[int], ClientTold]) -> None:
        self.clients = clients
        self.silent = False
        self.orders: list[Order] = []
        self.slot = WorkerSlot(worker_id, cast(WorkerProcess, self), ready=True)
        self.metrics: PushedMetrics | None = None

    def send(self, order: Order) -> None:
        self.orders.append(order)
        if not self.silent:
            asyncio.get_running_loop().call_soon(self.tell, order)

    def tell(self, order: Any) -> None:
        assert self.metrics is not None
        for each in self.clients:
            self.metrics.received(self.slot.worker_id, each(order.number))
        self.metrics.received(self.slot.worker_id, ClientsTold(order.number))


def metrics_of(*workers: Worker, seconds: float = 60.0) -> PushedMetrics:
    metrics = PushedMetrics([worker.slot for worker in workers], Turns(), seconds)
    for worker in workers:
        worker.metrics = metrics
    return metrics


async def shown(metrics: PushedMetrics) -> dict[str, tuple[str, dict[tuple[str, ...], float]]]:
    """Each family, as Prometheus' own client reads the text: type, and values by labels."""
    body = b"".join(await metrics.pieces()).decode()
    return {
        family.name: (
            family.type,
            {
                tuple(
                    f"{key}={value}" for key, value in sorted(sample.labels.items())
                ): sample.value
                for sample in family.samples
            },
        )
        for family in text_string_to_metric_families(body)
    }


async def test_nobody_has_pushed() -> None:
    assert await shown(metrics_of(Worker(0), Worker(1))) == {}


async def test_families_have_the_series_of_all_clients() -> None:
    lag = "g:kafka_client_lag"
    one = Worker(
        0, client("a", {lag: [({"topic": "t"}, 3.0)], "c:kafka_client_sent_total": [({}, 1.0)]})
    )
    two = Worker(1, client("b", {lag: [({}, 4.5), ({"topic": 'q"\\\n'}, 5.0)]}))
    assert await shown(metrics_of(one, two)) == {
        "kafka_client_lag": (
            "gauge",
            {
                ("client_id=a", "topic=t"): 3.0,
                ("client_id=b",): 4.5,
                ("client_id=b", 'topic=q"\\\n'): 5.0,
            },
        ),
        "kafka_client_sent": ("counter", {("client_id=a",): 1.0}),
    }


async def test_the_newest_push_of_a_client_counts() -> None:
    old = client("a", {"g:kafka_client_x": [({}, 1.0)]}, at=1.0)
    new = client("a", {"g:kafka_client_x": [({}, 2.0)]}, at=2.0)
    for workers in ((Worker(0, old), Worker(1, new)), (Worker(0, new), Worker(1, old))):
        found = await shown(metrics_of(*workers))
        assert found == {"kafka_client_x": ("gauge", {("client_id=a",): 2.0})}


async def test_no_label_of_a_series_takes_the_place_of_the_clients_own() -> None:
    forged = client(
        "a", {"g:kafka_client_x": [({"client_id": "b", "namespace": "b"}, 1.0)]}, namespace="a"
    )
    found = await shown(metrics_of(Worker(0, forged)))
    assert found == {"kafka_client_x": ("gauge", {("client_id=a", "namespace=a"): 1.0})}


async def test_clients_that_disagree_about_a_type() -> None:
    gauge = client("a", {"g:kafka_client_x_total": [({}, 1.0)]})
    counter = client("b", {"c:kafka_client_x_total": [({}, 2.0)]})
    body = b"".join(await metrics_of(Worker(0, gauge), Worker(1, counter)).pieces()).decode()
    assert body.count("# TYPE") == 1
    assert "# TYPE kafka_client_x_total untyped\n" in body
    assert 'kafka_client_x_total{client_id="a"} 1.0\n' in body
    assert 'kafka_client_x_total{client_id="b"} 2.0\n' in body


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e300, 0.1])
async def test_numbers_are_exact(value: float) -> None:
    found = await shown(metrics_of(Worker(0, client("a", {"g:kafka_client_x": [({}, value)]}))))
    assert found["kafka_client_x"][1] == {("client_id=a",): value}


async def test_a_worker_that_does_not_answer_is_left_out() -> None:
    one, two = Worker(0), Worker(1, client("b", {"g:kafka_client_x": [({}, 1.0)]}))
    one.silent = True
    metrics = metrics_of(one, two, seconds=0.05)
    assert list(await shown(metrics)) == ["kafka_client_x"]
    # What it tells later belongs to no text.
    one.clients = two.clients
    one.tell(one.orders[0])
    two.clients = ()
    assert await shown(metrics) == {}


async def test_a_worker_that_ends_is_not_waited_for() -> None:
    one = Worker(0)
    one.silent = True
    metrics = metrics_of(one)
    making = asyncio.create_task(metrics.pieces())
    await eventually(lambda: bool(one.orders), "an order")
    metrics.ended(0)
    assert await making == []


async def test_requests_at_once_get_one_text() -> None:
    worker = Worker(0, client("a", {"g:kafka_client_x": [({}, 1.0)]}))
    metrics = metrics_of(worker)
    texts = await asyncio.gather(*(metrics.pieces() for _ in range(5)))
    assert len({b"".join(pieces) for pieces in texts}) == 1
    assert len(worker.orders) == 1
    await metrics.pieces()
    assert len(worker.orders) == 2


async def test_it_stops_while_a_text_is_made() -> None:
    worker = Worker(0)
    worker.silent = True
    metrics = metrics_of(worker)
    making = asyncio.create_task(metrics.pieces())
    await eventually(lambda: bool(worker.orders), "an order")
    await metrics.stop()
    with pytest.raises(asyncio.CancelledError):
        await making


# -- in the worker ---------------------------------------------------------------------------------


def kept(number: int) -> Kept:
    key = InstanceKey(Owner("kafka", "all", "team-a", "User:a"), number.to_bytes(16, "big"))
    return Kept(key, {"client_id": str(number)}, {"g:x": b"[]"}, 1.0, 1e9)


async def test_a_worker_tells_of_all_its_clients() -> None:
    store, sent = Store(9), list[Any]()

    async def send(message: ClientTold | ClientsTold) -> None:
        sent.append(message)

    store.put(kept(1))
    store.put(kept(2))
    telling = ClientTelling(store, send)
    telling.take(TellClients(5))
    await eventually(lambda: ClientsTold(5) in sent, "the end")
    assert [one.labels["client_id"] for one in sent[:-1]] == ["1", "2"]
    assert {one.number for one in sent} == {5}


async def test_a_newer_order_ends_an_older_one() -> None:
    store, sent, blocked = Store(9), list[Any](), asyncio.Event()

    async def send(message: ClientTold | ClientsTold) -> None:
        sent.append(message)
        if message.number == 1:
            await blocked.wait()

    store.put(kept(1))
    telling = ClientTelling(store, send)
    telling.take(TellClients(1))
    await eventually(lambda: bool(sent), "a client")
    telling.take(TellClients(2))
    await eventually(lambda: ClientsTold(2) in sent, "the end")
    blocked.set()
    await asyncio.sleep(0)
    assert ClientsTold(1) not in sent
