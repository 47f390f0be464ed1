"""/metrics/clients is a text that Prometheus takes, whatever clients push: it rejects a text as a
whole for one line that it cannot read, and for a series that is there twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gateway.client_metrics import Client, Requested
from gateway.processes.pushed_metrics import PushedMetrics
from gateway.processes.worker_messages import Order
from gateway.processes.worker_process import WorkerProcess, WorkerSlot
from gateway.slices import Turns
from gateway.telemetry.instances import InstanceKey, Owner, Push
from gateway.telemetry.prometheus_names import PREFIX
from gateway.telemetry.telemetry import Pusher, Telemetry
from gateway.telemetry.told import ClientsTold, ClientTold, TellClients
from tests.telemetry.payloads import attributes, gauge, point, pushed, total

EVERYTHING = Requested(("*",), 100, 7)
HOMES = ("team-a", "team-b")


class Pushing(NamedTuple):
    """A push of a client of a tenant to a worker."""

    worker: int
    home: str
    instance: int
    client_id: str
    resource: dict[str, str]
    metrics: Sequence[Metric]


def one(*metrics: Metric) -> list[Pushing]:
    return [Pushing(0, "team-a", 1, "app", {}, metrics)]


async def page_of(pushes: Sequence[Pushing]) -> str:
    """The text for Prometheus after the pushes, through all that is between."""
    now = [0.0]
    workers = [Telemetry(now=lambda: now[0]) for _ in range(2)]
    for each in pushes:
        now[0] += 0.2  # two intervals: no push comes too early
        instance_id = bytes([each.instance]) * 16
        owner = Owner("kafka", "clients", each.home, f"User:{each.home}")
        key = InstanceKey(owner, instance_id)
        client = Client(instance_id, each.client_id, "java", "4.3.1", "10.0.0.1", 5000)
        payload = pushed(*each.metrics, resource=attributes(**each.resource))
        push = Push(7, 0, len(payload), terminating=False)
        pusher = Pusher(key, client, each.home)
        assert await workers[each.worker].take(pusher, EVERYTHING, push, payload) == 0

    class Worker:
        def __init__(self, worker_id: int) -> None:
            self.worker_id = worker_id

        def send(self, order: Order) -> None:
            assert isinstance(order, TellClients)
            for kept in workers[self.worker_id].store.tell():
                line = json.dumps(ClientTold.of(order.number, kept).to_json())
                page.received(self.worker_id, ClientTold.from_json(json.loads(line)))
            page.received(self.worker_id, ClientsTold(order.number))

    slots = [WorkerSlot(n, cast(WorkerProcess, Worker(n)), ready=True) for n in range(2)]
    page = PushedMetrics(slots, Turns())
    return b"".join(await page.pieces()).decode()


def read(text: str) -> list[Sample]:
    """The samples of the text. Raises ValueError and AssertionError for what Prometheus rejects."""
    types = Counter(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    assert set(types.values()) <= {1}, "a type twice"
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    lines = [line for line in text.split("\n") if line and not line.startswith("# ")]
    assert len(samples) == len(lines)
    series = Counter((s.name, *sorted(s.labels.items())) for s in samples)
    assert set(series.values()) <= {1}, series.most_common(1)
    return samples


# -- examples --------------------------------------------------------------------------------------


async def test_a_gauge_and_a_sum_of_one_name_are_one_series() -> None:
    for sum_name in ("hits", "hits_total"):
        text = await page_of(
            one(
                gauge("hits_total", point(1.0), point(3.0, topic="t")),
                total(sum_name, point(2.0), point(4.0, topic="u")),
            )
        )
        assert "# TYPE kafka_client_hits_total untyped\n" in text
        found = {sample.labels.get("topic"): sample.value for sample in read(text)}
        assert found == {None: 2.0, "t": 3.0, "u": 4.0}, "of one series the later point counts"


async def test_clients_with_one_name_of_both_types() -> None:
    pushes = [
        Pushing(0, "team-a", 1, "app", {}, [gauge("hits_total", point(1.0))]),
        Pushing(1, "team-b", 1, "app", {}, [total("hits", point(2.0))]),
    ]
    found = {sample.labels["namespace"]: sample.value for sample in read(await page_of(pushes))}
    assert found == {"team-a": 1.0, "team-b": 2.0}


# -- whatever clients push -------------------------------------------------------------------------

WORDS = (
    *("a", "a_total", "total", "_total", "a.total", "a-b", "a_b", "A", "9x", "x_created"),
    *("x_bucket", "x_sum", "x_count", "x_info", "org.apache.kafka.", "", "\xe9", "\u0130"),
    *("namespace", "principal", "client_id", "group_id", "group.id", "client-rack", "listener"),
    *("le", "quantile", "__name__", "_namespace_", '"', "\\", "\n", "\r", "\x00", "\x85"),
    *("\u2028", "\ufeff", "{", "}", "#", 'a\nb{namespace="team-a"} 1', "\U0001f600"),
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("".join) | st.text(max_size=9)
few = st.sampled_from(
    ("a", "a_total", "a.b", "a_b", "a_b_total", "a_created", "org.apache.kafka.a")
)
values = st.floats() | st.sampled_from((0.0, 1.0))


@st.composite
def points(draw: st.DrawFn) -> NumberDataPoint:
    found = point(draw(values))
    for key, text in draw(st.lists(st.tuples(words, words), max_size=3)):
        found.attributes.extend(attributes(**{key: text}))
    return found


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    name = draw(few | words)
    made = draw(st.lists(points(), min_size=1, max_size=3))
    if draw(st.booleans()):
        return gauge(name, *made)
    return total(name, *made, monotonic=draw(st.booleans()))


pushings = st.builds(
    Pushing,
    st.integers(0, 1),
    st.sampled_from(HOMES),
    st.integers(1, 2),
    words,
    st.dictionaries(st.sampled_from(("group_id", "client_rack", "namespace", "other")), words),
    st.lists(metrics(), max_size=5),
)


@given(st.lists(pushings, max_size=6))
@example(one(gauge("a_total", point(1.0)), total("a", point(2.0))))
@example(one(total("a", point(1.0)), total("a_total", point(2.0), monotonic=False)))
@example(one(gauge("a.b", point(1.0)), gauge("a_b", point(2.0))))
@example(one(gauge("a", point(1.0)), total("a", point(2.0))))
async def test_whatever_clients_push_the_page_is_valid(pushes: list[Pushing]) -> None:
    for sample in read(await page_of(pushes)):
        assert sample.name.startswith(PREFIX)
        assert sample.labels["namespace"] in HOMES
        assert sample.labels["principal"] == f"User:{sample.labels['namespace']}"
        assert sample.labels["listener"] == "clients"
