"""The commands of docs/mirrormaker.md, top to bottom: two sites, MirrorMaker there and back.

The configurations and files are the page's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.java import TOOL_SCRIPTS
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import DeadlineError, wait_until
from tests.docs import guide
from tests.live.mirror.examples import addresses, listeners, mirror_maker
from tests.live.support import java_tools, namespaces
from tests.live.support.clients import SECONDS

pytestmark = pytest.mark.long("brokers")

PAGE: Final = "docs/mirrormaker.md"
LOOKS: Final = {"--list", "--describe"}
"""Flags of read-only commands, which are repeated until they print the page's output."""


@pytest.fixture(scope="module")
def words(
    a: KafkaCluster, b: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, str]]:
    """Maps words of the page, addresses and files, to the real ones here."""
    with contextlib.ExitStack() as stack:
        found = {"namespaces.yaml": str(tmp_path_factory.mktemp("guide") / "namespaces.yaml")}
        for file, kafka in (("mirror-site-a.yaml", a), ("mirror-site-b.yaml", b)):
            values, all_listeners = listeners(file)
            gateway = stack.enter_context(
                GatewayProcess(kafka.bootstrap_servers, all_listeners, values["namespaces"])
            )
            found |= addresses(values, gateway)
            found[f"config/{file}"] = str(gateway.config_path)
        yield found


def test_the_guide(words: Mapping[str, str]) -> None:
    running: list[MirrorMakerProcess] = []
    with contextlib.ExitStack() as stack:
        for step in guide.steps(PAGE):
            if step.words[0] == "connect-mirror-maker":
                # The page says to stop the earlier process first.
                for process in running:
                    process.stop()
                file = step.words[1].removeprefix("config/")
                running = [mirror_maker(file, words).start()]
                stack.callback(running[0].close)
                continue
            _run(step, words)


def _run(step: guide.Step, words: Mapping[str, str]) -> None:
    line = [words.get(word, word) for word in step.words]
    typed = ""
    if line[0] == "echo":
        typed, line = f"{line[1]}\n", line[3:]
    printed = ""

    def shows() -> bool:
        nonlocal printed
        printed = _printed(line, typed, step)
        return not _missing(step, printed)

    seconds = SECONDS if LOOKS & set(line) else 0.0
    with contextlib.suppress(DeadlineError):  # its last output says more
        wait_until(shows, f"what {step} shows", seconds, poll=0.5)
    assert not _missing(step, printed), f"{step}\nlacks {_missing(step, printed)}\n{printed}"


def _printed(line: list[str], typed: str, step: guide.Step) -> str:
    if line[0] == "kafka-gateway":
        ended = namespaces.attempt(*line[1:])
        assert ended.status == step.status, f"{step}\n{ended.out}{ended.err}"
        return ended.out + ended.err
    said = java_tools.server().run(TOOL_SCRIPTS[line[0]], line[1:], stdin=typed)
    printed = said.stdout + said.stderr
    assert said.returncode == step.status or LOOKS & set(line), f"{step}\n{printed}"
    return printed


def _missing(step: guide.Step, printed: str) -> list[str]:
    """The lines that the page shows but were not printed, in order.

    The width of columns is ignored.
    """
    lines = [" ".join(one.split()) for one in printed.splitlines()]
    wanted = [" ".join(one.split()) for one in step.shown]
    return [one for one in wanted if not any(found.startswith(one) for found in lines)]
