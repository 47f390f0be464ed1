"""gateway.checks.cluster: findings as people and programs get them."""

from __future__ import annotations

import socket
from pathlib import Path

from gateway.acl_model import Operation
from gateway.checks.broker_rights import Rights
from gateway.checks.cluster import CatalogFacts, ClusterFindings, ask_cluster
from gateway.config.errors import key_text
from tests.config import config_samples


def test_rows() -> None:
    found = ClusterFindings(topics=1_200, catalog=CatalogFacts(7, 2, "k1", 30, 4, 0))
    assert found.rows() == [
        ("topics", "1,200"),
        ("catalog", "version 7, 30 entities"),
        ("format", "2 (this software reads up to 6)"),
        ("signed", "with key k1"),
        ("skipped records", "4"),
        ("damaged records", "0"),
    ]
    assert ClusterFindings().rows() == [("topics", "0"), ("catalog", "none yet")]


def test_json() -> None:
    rights = Rights(True, frozenset({Operation.WRITE, Operation.READ}), True)
    told = ClusterFindings(clients=rights, catalog=CatalogFacts(7, 1, None, 30, 0, 1)).as_json()
    assert told["clients_identity"] == {"operations": ["READ", "WRITE"], "transactional_id": True}
    assert told["catalog_identity"] is None
    assert told["catalog"] == {
        "version": 7,
        "format": 1,
        "newest_format": 6,
        "signed_with": None,
        "entities": 30,
        "skipped_records": 0,
        "damaged_records": 1,
    }


async def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    values = config_samples.values()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        values["clusters"][0]["bootstrap_servers"] = [f"127.0.0.1:{closed.getsockname()[1]}"]
        found = await ask_cluster(config_samples.config(tmp_path, **values))
    (problem,) = found.problems
    assert key_text(problem.key) == "clusters[0].bootstrap_servers[0]"
    assert "see that it runs, and that clusters[0] names it" in problem.text
    assert found.catalog is None
