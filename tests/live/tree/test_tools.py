"""Operators' views of two clusters: tree, explain, metrics, the traffic log, /readyz."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess, gateway_command
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.tree.conftest import LISTENERS, mounted
from tests.live.tree.volumes import LA, NY

CLICKS = ":ny:tracking:search:tools"
SENT = [f"{number:04}" * 64 for number in range(200)]
SIZE = sum(map(len, SENT))
SECONDS = 120


def command(gateway: GatewayProcess, *words: str) -> tuple[int, Any, str]:
    """Exit status, JSON, and standard error of an operator's command."""
    name, *flags = words
    line = [gateway_command(), name, "--config", str(gateway.config_path), "--json", *flags]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


def volume_of(root: Any, path: str) -> Any:
    """The node at a path in the output of ``tree``."""
    node = root
    for tier in path.split(":"):
        (node,) = (one for one in node["below"] if one["path"].endswith(f":{tier}"))
    return node


def test_tree_explain_metrics_and_the_traffic_log(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    clients.create(servers, "tools-here", CLICKS)
    clients.produce(servers, CLICKS, SENT)

    status, root, errors = command(tree, "tree")
    assert (status, errors) == (0, "")
    for path, number in ((LA, 1), (NY, 2)):
        volume = volume_of(root, path)["volume"]
        assert (volume["number"], volume["reachable"], volume["brokers"]) == (number, True, 1)
        assert volume["catalog_version"] > 0
        assert volume["metadata_version"] > 0
    search = volume_of(root, f"{NY}:search")
    assert search["topics"] >= 1
    assert search["size"] >= SIZE
    assert root["all_size"] >= search["size"]

    for spelled in (CLICKS, CLICKS.replace(":", "/"), "..ny.tracking.search..tools"):
        status, told, errors = command(tree, "explain", "--listener", "la", "--name", spelled)
        assert (status, errors) == (0, "")
        assert (told["absolute_name"], told["exists"]) == (CLICKS, True)
        assert told["mounts"][0]["mount"] == f":{NY}"

    metrics = tree.fresh_metrics().splitlines()
    (name,) = (volume_of(root, NY)["volume"]["cluster"],)
    assert f'kafka_gateway_cluster_reachable{{cluster="{name}"}} 1.0' in metrics
    label = f'namespace="{NY}:search"'
    counted = [line for line in metrics if label in line and "records_total" in line]
    of_cluster = [line for line in counted if f'cluster="{name}"' in line]
    # Other tests of the package may have written there, too.
    assert any(float(line.rpartition(" ")[2]) >= 200 for line in of_cluster), counted

    def flows() -> list[Any]:
        lines = (
            json.loads(line)
            for file in sorted(tree.traffic_log_directory.glob("*.jsonl"))
            for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")  # the last line may be half written
        )
        wanted = (CLICKS, "Produce")
        return [one for one in lines if (one.get("path"), one.get("api")) == wanted]

    found = wait_until(flows, "the flow record", SECONDS)
    assert {(one["cluster"], one["mount"]) for one in found} == {(name, NY)}
    assert {one["logical_topic"] for one in found} == {"search:tools"}


@pytest.mark.long("kills")
def test_one_cluster_that_is_down(la: KafkaCluster) -> None:
    """The gateway stays ready and reports the problem; the other cluster's clients continue."""
    with (
        KafkaCluster(missed_quickly=True) as other,
        GatewayProcess(mounted(la, other), LISTENERS, []) as gateway,
    ):
        servers = gateway.bootstrap_servers("la")
        clients.create(servers, "tools-before")
        other.kill_broker(other.running[0])
        status, root, errors = command(gateway, "tree")
        assert status == 0
        volume = volume_of(root, NY)
        assert (volume["volume"]["reachable"], volume["topics"]) == (False, None)
        assert volume_of(root, LA)["topics"] >= 1
        assert "not reachable" in errors

        def warned() -> bool:
            _, body = gateway.get("/readyz")
            warnings = json.loads(body).get("warnings", [])
            return any("is not known to be reachable" in one for one in warnings)

        wait_until(warned, "a warning of /readyz", SECONDS)
        assert gateway.get("/readyz")[0] == 200
        clients.create(servers, "tools-after")
        clients.await_stored(la, "tools-after")
