"""``make demo-tree``: the tour over two clusters ends well, and its lines can be pasted."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.devkit.demos import SECONDS, paste, run_once, serving_demo

pytestmark = pytest.mark.live

_DEMO = [sys.executable, "-m", "devkit.demo_tree"]
_TOPICS = ("/la/tracking/search/clicks", "/ny/tracking/search/clicks")


def test_once_ends_after_the_tour() -> None:
    printed = run_once(_DEMO)
    rows = [re.split(r"  +", line.strip()) for line in printed.splitlines()]
    stored = {row[0]: row[1:] for row in rows if len(row) == 3 and row[0] in _TOPICS}
    assert {topic: row[0] for topic, row in stored.items()} == {
        topic: f"{topic} 1, {topic} 2" for topic in _TOPICS
    }
    # The same flat name in two clusters.
    flats = [row[1].partition(" at ") for row in stored.values()]
    assert [flat for flat, _, _ in flats] == ["search..clicks"] * 2
    assert len({broker for _, _, broker in flats}) == 2
    # The records that the group read of both topics.
    for topic in _TOPICS:
        assert [topic, f"{topic} 1, {topic} 2"] in rows
    listed = {row[0]: row[1:] for row in rows if row[0] in ("la", "ny", "legal")}
    assert listed["la"] == ["search/clicks", "la-app"]
    assert listed["ny"] == ["search/clicks", "-"]
    addresses = re.findall(r"^bootstrap\.servers=\S+:\d+  # \w.*$", printed, re.MULTILINE)
    assert len(addresses) == 3


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[ManagedProcess]:
    with serving_demo(_DEMO, tmp_path / "log") as demo:
        yield demo


def test_the_lines_can_be_pasted_and_ctrl_c_leaves_nothing(serving: ManagedProcess) -> None:
    family = psutil.Process(serving.command_pid).children(recursive=True)
    assert sum("kafka.Kafka" in process.cmdline() for process in family) >= 2
    text = serving.log_path.read_text()
    pasted = text.partition("To paste into another terminal:\n")[2].partition("\n\n")[0]
    consumed, drawn = (paste(line) for line in pasted.splitlines())
    assert consumed.splitlines() == [f"{_TOPICS[1]} 1", f"{_TOPICS[1]} 2"]
    assert "tracking" in drawn
    psutil.Process(serving.command_pid).send_signal(signal.SIGINT)
    wait_until(lambda: not serving.running, "the end of the demo", SECONDS)
    assert serving.returncode == 0, serving.tail()
    assert not [process for process in family if process.is_running()]
