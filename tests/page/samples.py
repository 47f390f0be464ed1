"""Made-up reports of workers of a busy gateway, for the page's tests, and to look at it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.config.models import Config
from gateway.counts import Row
from gateway.page.history import History
from gateway.page.observed import Latency, Observed, Traffic, TrafficKey
from gateway.page.state import Facts, WorkerFacts, build_state
from gateway.page.window import Window
from tests.config import config_samples

PRODUCE, FETCH, METADATA, HEARTBEAT, CREATE_ACLS = 0, 1, 3, 12, 30
CLIENTS = (
    ("shop:orders", "created", "User:checkout", "checkout-7f9c", 1, 480_000, 0, 900),
    ("shop:orders", "created", "User:billing", "billing", 1, 0, 470_000, 880),
    ("shop:orders", "cancelled", "User:checkout", "checkout-7f9c", 1, 21_000, 0, 40),
    ("shop:payments:cards", "captured", "User:payments", "payments-eu-1", 1, 260_000, 0, 310),
    ("shop:payments:cards", "captured", "User:fraud", "fraud-scoring", 1, 0, 255_000, 305),
    ("analytics:clicks", "raw", "User:edge", "edge-collector", 1, 3_900_000, 0, 12_000),
    ("analytics:clicks", "raw", "User:spark", "sessionizer", 1, 0, 3_850_000, 11_900),
    ("analytics:clicks", "sessions", "User:spark", "sessionizer", 1, 420_000, 0, 800),
    ("", "legacy-events", "User:ANONYMOUS", "console-producer", 1, 4_000, 0, 8),
)
SOFTWARE = "apache-kafka-java 4.1.0"


def observed(second: int, now: int, *, dice: random.Random, busy: float = 1.0) -> Observed:
    """A second of a worker."""
    wave = busy * (1 + 0.25 * math.sin(second / 17))
    traffic = []
    for namespace, topic, principal, client, _, into, out, records in CLIENTS:
        each = wave * dice.uniform(0.85, 1.15)
        counts = Traffic(
            int(each * (into + out) / 16_000) + 1,
            int(into * each),
            int(out * each),
            int(records * each) if into else 0,
            int(records * each) if out else 0,
        )
        key = TrafficKey("main", namespace, topic, "colon", principal, client, SOFTWARE)
        traffic.append((key, counts))
    heartbeat = TrafficKey("main", None, "", "colon", "User:billing", "billing", SOFTWARE)
    traffic.append((heartbeat, Traffic(requests=3, bytes_in=300, bytes_out=200)))
    for namespace in ("shop:orders", ""):
        creating = TrafficKey("main", namespace, "", "colon", "User:deploy", "deploy", SOFTWARE)
        traffic.append((creating, Traffic(requests=1, bytes_in=90, bytes_out=70)))
    return Observed(
        seconds=1.0,
        traffic=traffic,
        latency={
            PRODUCE: Latency(spread(dice, 24, 400), spread(dice, 44, 400)),
            FETCH: Latency(spread(dice, 26, 300), spread(dice, 74, 300)),
            METADATA: Latency(spread(dice, 30, 12), spread(dice, 40, 12)),
            HEARTBEAT: Latency(spread(dice, 20, 3), spread(dice, 38, 3)),
        },
        denials=denials(now),
        logins=logins(now),
        clusters=[cluster(second)],
        form="compiled",
    )


def counted(second: int) -> list[Row]:
    """A worker's report for the metrics of one second."""
    rows: list[Row] = [("requests", ("shop:orders", PRODUCE, 9), 500)]
    if second % 5 == 0:
        rows += [
            ("errors", ("shop:orders", METADATA, 5), 3),
            ("errors", ("shop:payments:cards", PRODUCE, 29), 1),
            ("errors", ("(none)", CREATE_ACLS, 31), 1),
        ]
    return rows


def logins(now: int) -> list[dict[str, Any]]:
    """Failed logins, the last one 9 s before ``now`` (ms since 1970)."""
    common = {"listener": "colon", "mechanism": "SCRAM-SHA-512", "address": "10.1.4.40"}
    reason = "the password is wrong"
    return [
        {**common, "count": 33, "time": now - 9_000, "user": "billing", "reason": reason},
        {
            **common,
            "count": 1,
            "time": now - 200_000,
            "mechanism": "",
            "user": "",
            "reason": "the client sent no SASL handshake",
        },
    ]


def spread(dice: random.Random, middle: int, count: int) -> dict[int, int]:
    """A histogram around a bucket, with a tail."""
    found: dict[int, int] = {}
    for _ in range(count):
        number = max(0, middle + round(abs(dice.gauss(0, 2)) ** 1.4))
        found[number] = found.get(number, 0) + 1
    return found


def denials(now: int) -> list[dict[str, Any]]:
    """Denials of all kinds, the last one 4 s before ``now`` (ms since 1970)."""
    common = {"cluster": "main", "mount": None, "address": "10.1.4.22", "listener": "colon"}
    return [
        {
            **common,
            "count": 14,
            "time": now - 4_000,
            "principal": "User:reports",
            "client_id": "reports-nightly",
            "api": "Fetch",
            "rule": "acl",
            "error": "TOPIC_AUTHORIZATION_FAILED",
            "operation": "READ",
            "named": "TOPIC shop:payments:cards:captured",
            "resource": "shop:payments:cards:captured",
            "message": "User:reports is not allowed to READ topic 'shop:payments:cards:captured'.",
            "because": "no ACL allows READ or DESCRIBE on namespace 'shop:payments:', which has"
            " ACLs",
        },
        {
            **common,
            "count": 1,
            "time": now - 65_000,
            "principal": "User:sam",
            "client_id": "kafka-topics",
            "api": "Produce",
            "rule": "acl",
            "error": "TOPIC_AUTHORIZATION_FAILED",
            "operation": "WRITE",
            "named": "TOPIC shop:orders:created",
            "resource": "shop:orders:created",
            "message": "User:sam is not allowed to WRITE topic 'shop:orders:created'.",
            "because": "no ACL allows it",
        },
        {
            **common,
            "count": 2,
            "time": now - 300_000,
            "principal": "User:edge",
            "client_id": "edge-deploy",
            "api": "CreateTopics",
            "error": "POLICY_VIOLATION",
            "rule": "partitions.max",
            "message": "Topic 'analytics:clicks:raw2' would have 96 partitions; the most is 48.",
            "named": "TOPIC analytics:clicks:raw2",
            "source": "policies.namespaces.analytics",
        },
    ]


def cluster(second: int) -> dict[str, Any]:
    """A cluster with some namespaces that are idle."""
    return {
        "name": "main",
        "mount": None,
        "number": 0,
        "reachable": True,
        "topics": 214,
        "offset": 1_903 + second // 30,
        "age": 0.3,
        "fresh": True,
        "damaged": 0,
        "skipped": 0,
        "format": 4,
        "entities": 812,
        "namespaces": [
            "analytics",
            "analytics:clicks",
            "hr",
            "shop",
            "shop:orders",
            "shop:payments",
            "shop:payments:cards",
            "shop:payments:sepa",
        ],
        "namespaces_in_all": 8,
        "gateways": [
            {
                "id": "gw",
                "software": "0.1.0",
                "format": 4,
                "node": 1_073_741_825,
                "addresses": {"colon": "gw-a.example.org:9300"},
            },
            {
                "id": "gw-b",
                "software": "0.1.0",
                "format": 4,
                "node": 1_073_741_826,
                "addresses": {"colon": "gw-b.example.org:9300"},
            },
        ],
        "gateways_in_all": 2,
        "gateways_down": [],
    }


class SampleGateway:
    """A gateway's page without the gateway. ``change`` may change a state before it is shown."""

    def __init__(self, directory: Path, workers: int = 2, **overrides: Any) -> None:
        self.config: Config = config_samples.config(directory, **overrides)
        self.window = Window()
        self.history = History(time.monotonic, lambda: int(time.time() * 1000))
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda state: state
        self.quiet = False
        self.fleet: dict[str, Any] = {}
        self.asked = 0
        self.begun = 0
        self.second = 0
        self._workers = workers
        self._dice = random.Random(7)
        self._denied = int(time.time() * 1000)
        self._started = int(time.time() * 1000) - 4_000_000

    def begin(self) -> None:
        self.begun += 1
        self.window.begin()

    def ask(self) -> None:
        """Let all workers report a second."""
        self.asked += 1
        self.second += 1
        for worker in range(self._workers):
            told = observed(self.second, self._denied, dice=self._dice, busy=1 / (worker + 1))
            if self.quiet:
                told = Observed(1.0, form="pure")
            self.window.add(worker, told)
            if not self.quiet:
                self.history.count(worker, counted(self.second))
            self.history.reported(worker, float(self.second))

    def state(self) -> dict[str, Any]:
        errors, recent, seconds = self.history.errors()
        facts = Facts(
            "0.1.0",
            self._started,
            int(time.time() * 1000),
            [
                WorkerFacts(n, "serves", 4_711 + n, 0.4, 0.31 - 0.1 * n, 91e6 + 3e6 * n, 40 - 9 * n)
                for n in range(self._workers)
            ],
            {"colon": 71},
            errors=errors,
            recent_errors=recent,
            error_seconds=seconds,
            fleet=self.fleet,
        )
        return self.change(build_state(self.config, self.window, facts))
