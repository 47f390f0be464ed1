"""Modules that a worker loads before it needs them: every MiB exists once for each worker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from devkit.ports import free_ports
from tests.config import config_samples

HEAVY = ("aiohttp", "cryptography.x509", "google.protobuf", "jwt", "opentelemetry", "scramp")


def test_a_worker_without_tls_and_logins_does_not_load_what_they_need() -> None:
    code = (
        f"import sys, gateway.processes.worker; print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


SERVER = """
import asyncio, json, sys
from pathlib import Path
from gateway.apis.generic import request, response
from gateway.apis.table import APIS, plan_of
from gateway.config_file.loading import load_config
from gateway.processes.server import Server

async def serve():
    Server(load_config(Path(sys.argv[1])))

asyncio.run(serve())
plans = [plan_of(api.key, version) for api in APIS.values() for version in {api.first, api.last}]
own = [
    plan.on_request is (plan.api.request or request)
    and plan.on_response is (plan.api.response or response)
    for plan in plans
]
rooms = {".".join(name.split(".")[:2]) for name in sys.modules}
seen = sorted(rooms & {"gateway.fleet", "gateway.referrals", "gateway.tree"})
print(json.dumps([seen, all(own)]))
"""


def served(file: Path) -> list[object]:
    """Of a worker with this file: which of the rooms ``fleet``, ``referrals`` and ``tree`` it has
    imported, and whether every API's handlers are its own, with nothing around them."""
    command = [sys.executable, "-c", SERVER, str(file)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(ran.stdout))


def test_a_gateway_with_one_cluster_has_nothing_of_trees_and_fleets(tmp_path: Path) -> None:
    assert served(config_samples.write(tmp_path)) == [[], True]


def test_a_tree_plugs_in(tmp_path: Path) -> None:
    rooms = ["gateway.referrals", "gateway.tree"]
    assert served(config_samples.write_tree(tmp_path)) == [rooms, False]


def test_a_fleet_plugs_in(tmp_path: Path) -> None:
    first, *_, last = free_ports(2 + config_samples.NODE_IDS)
    listeners = [{"name": "all", "port": first, "gateway_port": last}]
    file = config_samples.write(tmp_path, listeners=listeners)
    assert served(file) == [["gateway.fleet"], False]
