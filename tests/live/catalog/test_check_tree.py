"""``check --cluster`` and ``catalog`` of a file with several clusters, at real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from devkit.broker import KafkaCluster
from tests.config import config_samples
from tests.live.support import namespaces


def test_one_kafka_at_two_mounts_and_what_one_hides(
    tmp_path: Path, kafka: KafkaCluster, unique: Callable[[str], str]
) -> None:
    hidden = unique("hidden").replace("_", "-")
    values = config_samples.tree_values()
    for cluster, mount in zip(values["clusters"], ("la", f"la:{hidden}"), strict=True):
        cluster["bootstrap_servers"] = kafka.bootstrap_servers.split(",")
        cluster["mount"] = mount
    values["clusters"][1]["node_ids"] = ["1000"]
    values["listeners"] = [{**values["listeners"][0], "volume": "la"}]
    path = config_samples.write_tree(tmp_path, **values)

    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(f"format: 1\ncatalog_format: 1\nnamespaces:\n  {hidden}: {{}}\n")
    words = ("catalog", "import", "--config", str(path), "--yes", str(catalog))
    rejected = namespaces.attempt(*words)
    assert rejected.status == 2
    assert "--cluster la, ny" in rejected.err
    assert namespaces.attempt(*words, "--cluster", "la").status == 0

    told = json.loads(namespaces.attempt("check", "--cluster", "--json", str(path)).out)
    la, ny = told["clusters"]
    assert (la["name"], la["mount"], la["number"]) == ("la", "la", 1)
    assert la["cluster_id"] == ny["cluster_id"]
    (problem,) = told["problems"]
    assert "clusters[1].bootstrap_servers: leads to cluster id" in problem
    hides = "clusters[1].mount: hides 1 namespace and 0 topics of cluster 'la', which is mounted at"
    assert sum(hides in line and f"{hidden}:" in line for line in told["warnings"]) == 1
    unlisted = "clusters[1].node_ids: the cluster has brokers "
    assert sum(unlisted in line for line in told["warnings"]) == 1
