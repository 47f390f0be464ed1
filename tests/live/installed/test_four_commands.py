"""docs/install.md, "In four commands": an empty directory, a wheel, a Kafka that is there."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from devkit.broker import KafkaCluster
from devkit.http_get import get
from devkit.installed import installed_command
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.docs import markdown
from tests.live.installed.test_installed_forms import forms
from tests.live.support import clients

pytestmark = [pytest.mark.timeout(1800), pytest.mark.long("builds")]


@pytest.mark.usefixtures("ports_of_init")
def test_from_the_wheel_to_a_client(
    kafka: KafkaCluster, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    section = markdown.read("docs/install.md").partition("## In four commands\n")[2]
    lines = re.findall(r"^    (\S.*)$", section.partition("\n## ")[0], re.MULTILINE)
    install, init, check, serve = map(shlex.split, lines)
    assert install[-3:] == ["pip", "install", "."]
    command = str(installed_command(forms()[-1]))
    assert {line[0] for line in (init, check, serve)} == {"kafka-gateway"}
    init = [word.replace("localhost:9092", kafka.bootstrap_servers) for word in init]
    for line in (init, check):
        done = subprocess.run(
            [command, *line[1:]],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    config = yaml.safe_load((tmp_path / "gateway.yaml").read_text())
    topic = unique("four-commands")
    with ManagedProcess(
        "gateway", [command, *serve[1:]], tmp_path / "log", cwd=tmp_path
    ) as gateway:
        wait_until(lambda: _ready(gateway, config["metrics"]["port"]), "it is ready", 240)
        servers = f"127.0.0.1:{config['listeners'][0]['port']}"
        clients.create(servers, topic)
        clients.produce(servers, topic, ["one"])
        assert clients.consume(servers, topic, 1, unique("readers")) == ["one"]
        assert gateway.terminate() == 0


def _ready(gateway: ManagedProcess, port: int) -> bool:
    assert gateway.running, gateway.tail()
    try:
        return get(port, "/readyz")[0] == 200
    except OSError:
        return False
