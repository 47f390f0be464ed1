"""``make demo-tree``: the tour over two clusters ends well, and its lines can be pasted."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from devkit.paths import PROJECT_ROOT
from devkit.process import ManagedProcess
from devkit.waiting import wait_until

pytestmark = pytest.mark.live

_DEMO = [sys.executable, "-m", "devkit.demo_tree"]
_TOPICS = ("/la/tracking/search/clicks", "/ny/tracking/search/clicks")
_SECONDS = 400


def test_once_ends_after_the_tour() -> None:
    ended = subprocess.run(
        [*_DEMO, "--once"], capture_output=True, text=True, cwd=PROJECT_ROOT, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = [re.split(r"  +", line.strip()) for line in ended.stdout.splitlines()]
    stored = {row[0]: row[1:] for row in rows if len(row) == 3 and row[0] in _TOPICS}
    assert {topic: row[0] for topic, row in stored.items()} == {
        topic: f"{topic} 1, {topic} 2" for topic in _TOPICS
    }
    # The same flat name in two clusters.
    flats = [row[1].partition(" at ") for row in stored.values()]
    assert [flat for flat, _, _ in flats] == ["search..clicks"] * 2
    assert len({broker for _, _, broker in flats}) == 2
    # What the group read of both.
    for topic in _TOPICS:
        assert [topic, f"{topic} 1, {topic} 2"] in rows
    listed = {row[0]: row[1:] for row in rows if row[0] in ("la", "ny", "legal")}
    assert listed["la"] == ["search/clicks", "la-app"]
    assert listed["ny"] == ["search/clicks", "-"]
    addresses = re.findall(r"^bootstrap\.servers=\S+:\d+  # \w.*$", ended.stdout, re.MULTILINE)
    assert len(addresses) == 3


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[ManagedProcess]:
    with ManagedProcess("demo-tree", _DEMO, tmp_path / "log", cwd=PROJECT_ROOT) as demo:
        wait_until(lambda: _ended(demo) or "Serving until" in demo.tail(), "the demo", _SECONDS)
        yield demo


def test_the_lines_can_be_pasted_and_ctrl_c_leaves_nothing(serving: ManagedProcess) -> None:
    family = psutil.Process(serving.command_pid).children(recursive=True)
    assert sum("kafka.Kafka" in process.cmdline() for process in family) >= 2
    text = serving.log_path.read_text()
    pasted = text.partition("To paste into another terminal:\n")[2].partition("\n\n")[0]
    consumed, drawn = (_paste(line) for line in pasted.splitlines())
    assert consumed.splitlines() == [f"{_TOPICS[1]} 1", f"{_TOPICS[1]} 2"]
    assert "tracking" in drawn
    psutil.Process(serving.command_pid).send_signal(signal.SIGINT)
    wait_until(lambda: not serving.running, "the end of the demo", _SECONDS)
    assert serving.returncode == 0, serving.tail()
    assert not [process for process in family if process.is_running()]


def _paste(line: str) -> str:
    ended = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        cwd=PROJECT_ROOT,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, f"{line}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def _ended(demo: ManagedProcess) -> bool:
    assert demo.running, demo.tail()
    return False
