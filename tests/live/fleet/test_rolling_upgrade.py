"""Two gateways of a catalog are replaced in turn by another build, and one is rolled back.

Clients must not notice. ROLLING_OLD=DIR: the folder of the build that they begin with (``make
rolling``: an earlier revision); if it is not set, both are the same build.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.waiting import DeadlineError, wait_until
from tests.live.fleet.conftest import LISTENERS, created
from tests.live.fleet.test_killed_gateways import stopped
from tests.live.moves import load, load_checks
from tests.live.support import clients, namespaces, steady
from tests.live.support.steady_java_client import java_client

pytestmark = pytest.mark.long("kills")

NEW: Final = PROJECT_ROOT
OLD: Final = Path(os.environ.get("ROLLING_OLD", NEW))
ADMIN: Final = Listener("admin", "lists namespaces", list_namespaces=True)


def test_a_build_is_the_one_that_is_named() -> None:
    """PYTHONPATH precedes installed packages."""
    for build in (OLD, NEW):
        found = subprocess.run(
            [sys.executable, "-c", "import gateway; print(gateway.__file__)"],
            env={**os.environ, "PYTHONPATH": str(build)},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        )
        assert Path(found.stdout.strip()).is_relative_to(build)


@pytest.mark.timeout(900)
def test_clients_do_not_notice(own: KafkaCluster, tmp_path: Path) -> None:
    with ExitStack() as stack:
        gateways = [
            stack.enter_context(
                GatewayProcess(
                    own.bootstrap_servers,
                    [*LISTENERS, ADMIN],
                    ["team-a"],
                    overrides={"gateway_id": name},
                    python_path=OLD,
                )
            )
            for name in ("gw-a", "gw-b")
        ]
        topic, java = "team-a:rolled", "team-a:rolled-java"
        servers = created(gateways, topic, load.PARTITIONS)
        created(gateways, java)
        atomic = stack.enter_context(
            load.TransactionalSender(servers, lambda: topic, "atomic", load.PATIENT_MS, lambda: 0)
        )
        strong = stack.enter_context(
            load.IdempotentSender(servers, lambda: topic, "strong", load.PATIENT_MS)
        )
        running = [
            stack.enter_context(one)
            for one in (
                steady.member("member", servers, "group-rolled", topic, ignoring=True),
                java_client(java, servers, java, "group-rolled-java", tmp_path),
            )
        ]
        for each in running:
            each.await_progress("the start")
        _check_first(gateways[0], NEW, tmp_path)
        made: list[str] = []
        for turn, (number, build) in enumerate([(0, NEW), (1, NEW), (0, OLD), (0, NEW)]):
            stopped(gateways[number])
            gateways[number].start_again(python_path=build)
            for each in running:
                each.await_progress(f"turn {turn}")
            _await_acknowledged(strong, atomic)
            made += _namespaces_at_both(gateways, turn, made)
        for sender in (strong, atomic):
            sender.stop()
        log = load_checks.stored(own.bootstrap_servers, "team-a..rolled")
    for sender in (strong, atomic):
        load_checks.check_answered(sender)
        load_checks.check_log(log, sender)
    assert strong.sent.failed == strong.sent.unknown == []
    for each in running:
        each.check()


def _check_first(gateway: GatewayProcess, build: Path, directory: Path) -> None:
    """Steps 1 and 2 of docs/upgrade.md, by the new build while the old build serves."""
    config, copy = str(gateway.config_path), directory / "catalog.yaml"
    env = {**os.environ, "PYTHONPATH": str(build)}
    # An earlier revision may not print yet which file it runs from.
    more = [] if OLD == NEW else ["--no-bind"]
    for arguments in (
        ["catalog", "export", "--config", config, "--output", str(copy)],
        ["check", "--cluster", *more, config],
    ):
        command = [sys.executable, "-m", "gateway", *arguments]
        ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
    assert "namespaces:" in copy.read_text()


def _await_acknowledged(*senders: load.Sender) -> None:
    """Wait until more records of each sender were acknowledged. Fails as soon as a sender does."""
    before = [len(one.sent.acknowledged) for one in senders]
    for one, was in zip(senders, before, strict=True):
        try:
            wait_until(partial(_has_more, one, was + 20), f"more of {one.who}", clients.SECONDS)
        except DeadlineError as late:
            late.add_note(f"its last errors: {one.errors[-5:]}")
            raise


def _has_more(sender: load.Sender, most: int) -> bool:
    sender.check()
    return len(sender.sent.acknowledged) > most


def _lists(servers: str, names: set[str]) -> bool:
    return names <= {*clients.listed(servers)}


def _namespaces_at_both(
    gateways: Sequence[GatewayProcess], turn: int, before: Sequence[str]
) -> list[str]:
    """Create a namespace, with a config, at each gateway; each knows all that either has
    created."""
    made = [f"made-{turn}-at-{place}" for place in range(len(gateways))]
    for gateway, name in zip(gateways, made, strict=True):
        servers = gateway.bootstrap_servers("admin")
        namespaces.create(servers, f"{name}:")
        namespaces.alter(servers, f"{name}:", {"retention.ms": "77000"})
    due = {f"{name}:" for name in (*before, *made)}
    for gateway in gateways:
        servers = gateway.bootstrap_servers("admin")
        wait_until(partial(_lists, servers, due), "all namespaces", clients.SECONDS)
        for name in made:
            # A gateway may have read that a namespace exists, but not yet its config.
            namespaces.await_configs(servers, f"{name}:", {"retention.ms": "77000"})
    return made
