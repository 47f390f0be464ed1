"""bench.wire on a real Kafka: a small share of every load, to check that all of it works."""

from __future__ import annotations

import pytest

from bench.bars import AFTER_BULK, IDLE
from bench.results import rows
from bench.wire import Plan, run

pytestmark = [pytest.mark.live, pytest.mark.long("measures")]


def test_every_load_works_directly_and_through_the_gateway() -> None:
    said: list[str] = []
    targets = ["direct", "gateway-ids", "gateway-names"]
    plan = Plan(rounds=1, bulk_gib=0.1, rss_gib=0.02, targets=targets, share=0.05)
    outcome = run(plan, said.append)
    assert outcome.versions == {
        "direct": (13, 15),
        "gateway-ids": (13, 15),
        "gateway-names": (12, 12),
    }
    found = {(row.load, row.target, row.metric): row for row in rows(outcome.samples)}
    for load in ("bulk produce", "bulk fetch", "pipelined produce", "pipelined fetch"):
        assert (load, "direct", "cpu") not in found
        assert found[load, "direct", "rate"].value.median > 0
        for target in targets[1:]:
            assert found[load, target, "cpu"].value.median > 0
    for load in ("closed-loop produce", "closed-loop fetch", "paced produce", "paced fetch"):
        for target in targets[1:]:
            relative = found[load, target, "p50"].relative
            assert relative is not None
    for target in targets[1:]:
        assert found[IDLE, target, "kib"].value.median > 0
        assert found[AFTER_BULK, target, "rss"].value.median > 10
        assert found[AFTER_BULK, target, "gib"].value.median >= 0.02
    assert said[-1] == "memory after bulk traffic: gateway-names"
