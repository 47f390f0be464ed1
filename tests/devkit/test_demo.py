"""``make demo``: the tour ends well, its lines can be pasted, and nothing stays behind."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
import yaml

from devkit.demo import NAMESPACES
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.devkit.demos import paste, run_once, serving_demo

pytestmark = pytest.mark.live

_DEMO = [sys.executable, "-m", "devkit.demo"]


def test_once_ends_after_the_tour() -> None:
    printed = run_once(_DEMO)
    rows = [re.split(r"  +", line.strip()) for line in printed.splitlines()]
    written = "team-a:orders 1, team-a:orders 2"
    assert ["team-a:orders", written, "team-a..orders"] in rows
    assert ["colon", "team-a:orders", written] in rows
    assert ["home", "orders", written] in rows
    assert ["legal", "team-a..orders", written] in rows
    assert ["broker", "team-a..orders", written] in rows
    listed = {row[0]: row[1] for row in rows if len(row) == 3}
    assert listed["home"] == "orders"
    assert re.findall(r"^bootstrap\.servers=\S+:\d+  # \w.*$", printed, re.MULTILINE)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[ManagedProcess]:
    with serving_demo(_DEMO, tmp_path / "log") as demo:
        yield demo


def test_the_lines_can_be_pasted_and_ctrl_c_leaves_nothing(serving: ManagedProcess) -> None:
    family = psutil.Process(serving.command_pid).children(recursive=True)
    assert any("kafka.Kafka" in process.cmdline() for process in family)
    text = serving.log_path.read_text()
    lines = text.partition("To paste into another terminal:\n")[2].splitlines()[:6]
    confluent, aiokafka, topics, listed, altered, explained = (paste(line) for line in lines)
    assert confluent == "0 left to send\n"
    assert "team-a:orders 1" in aiokafka
    assert "Topic: team-a..orders" in topics
    assert "org:apache:kafka:orders" in listed
    assert altered
    assert "team-a..orders" in explained
    (config,) = re.findall(r"^configuration: (\S+)$", text, re.MULTILINE)
    assert yaml.safe_load(Path(config).read_text())["namespaces"] == [*NAMESPACES]
    (metrics,) = re.findall(r"^metrics: +(\S+)$", text, re.MULTILINE)
    with urlopen(metrics, timeout=60) as answer:  # noqa: S310 - the demo's own, on loopback
        assert b"kafka_gateway_build_info" in answer.read()
    (page,) = re.findall(r"^page: +(\S+)$", text, re.MULTILINE)
    with urlopen(page, timeout=60) as answer:  # noqa: S310 - likewise
        assert b"<html" in answer.read()
    psutil.Process(serving.command_pid).send_signal(signal.SIGINT)
    wait_until(lambda: not serving.running, "the end of the demo", 120)
    assert serving.returncode == 0, serving.tail()
    assert not [process for process in family if process.is_running()]
