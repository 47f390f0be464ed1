"""Clients in processes of their own (load_process.py), and the effects of a crash."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from devkit.waiting import wait_until
from tests.live.moves.load import SendOutcomes
from tests.live.support import clients
from tests.live.support.load_line import Client, Facts, Line, TopicState
from tests.live.support.load_process import Load


@dataclass(slots=True)
class Lives(Facts):
    """The names that each life of a client received, and how many of its lives ended in a crash."""

    names: list[str] = field(default_factory=list)
    interrupted: int = 0

    def begin(self, name: str) -> None:
        """A life of the client begins."""
        self.names.append(name)

    def interrupt(self) -> None:
        """A life of the client has ended early."""
        self.interrupted += 1


class Mortal(Client[Lives]):
    """A client that sends itself a signal in each life, and then waits, forever if it is deaf to
    it."""

    def __init__(self, signals: Sequence[signal.Signals], is_deaf: bool = False) -> None:
        super().__init__("mortal")
        self._signals = signals
        self._is_deaf = is_deaf

    def run(self, line: Line[Lives]) -> None:
        """Report the name, and die if this life has a signal."""
        life = len(line.facts.names)
        line.tell(Lives.begin, line.now().name)
        if life < len(self._signals):
            os.kill(os.getpid(), self._signals[life])
        while self._is_deaf or not line.is_stopping():
            signal.sigtimedwait([signal.SIGUSR1], 0.02)


def _load(*signals: signal.Signals, may_crash: bool = False) -> Load[Lives]:
    names = iter(["first", "second", "third"])
    return Load(Mortal(signals), Lives(), lambda: TopicState(next(names)), may_crash=may_crash)


def test_it_tells_what_it_learns_and_ends_when_it_should() -> None:
    with _load() as load:
        wait_until(lambda: load.facts.names, "a word of the client", clients.SECONDS)
        load.stop()
    assert load.facts == Lives(names=["first"])
    assert load.crashes == []


def test_a_crash_that_may_be_takes_nothing_with_it_and_is_told() -> None:
    with _load(signal.SIGABRT, may_crash=True) as load:
        wait_until(lambda: len(load.facts.names) == 2, "a second life", clients.SECONDS)
        load.stop()
    assert load.facts == Lives(names=["first", "second"], interrupted=1)
    (crash,) = load.crashes
    assert crash.startswith("mortal: librdkafka ")
    assert "Fatal Python error: Aborted" in crash
    assert "in run" in crash


@pytest.mark.parametrize(
    ("signals", "may_crash"),
    [
        ([signal.SIGABRT], False),
        ([signal.SIGABRT, signal.SIGABRT], True),
        ([signal.SIGSEGV], True),
        ([signal.SIGKILL], True),
    ],
    ids=["not allowed", "second", "another signal", "killed"],
)
def test_any_other_crash_is_a_failure(signals: list[signal.Signals], may_crash: bool) -> None:
    with _load(*signals, may_crash=may_crash) as load:

        def never() -> bool:
            load.check()
            return False

        with pytest.raises(AssertionError, match=f"mortal ended with {-signals[-1]}"):
            wait_until(never, "its failure", clients.SECONDS)
        with pytest.raises(AssertionError, match="mortal ended with"):
            load.stop()


def test_one_that_does_not_end_is_ended() -> None:
    deaf = Load(Mortal([], is_deaf=True), Lives(), lambda: TopicState("first"))
    with deaf:
        wait_until(lambda: deaf.facts.names, "a word of the client", clients.SECONDS)
        with pytest.raises(AssertionError, match="mortal does not end"):
            deaf.stop(0.1)
    with pytest.raises(AssertionError, match=f"mortal ended with {-signal.SIGKILL}"):
        deaf.check()


def test_what_a_crashed_sender_was_about_to_send_is_unknown() -> None:
    sent = SendOutcomes()
    for _ in range(5):
        sent.begin()
    sent.acknowledge([0, 3])
    sent.fail([1])
    sent.interrupt()
    assert sent.unknown == [2, 4]
    assert sent.answered == sent.count
