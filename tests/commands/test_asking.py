"""gateway.commands.asking: the questions of a command, over TLS to a peer in this process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from devkit.certificates import Authority
from gateway.commands.asking import PRINCIPAL, SECONDS, Asker
from gateway.config.models import Config
from gateway.config.tree import TreeSettings
from gateway.config_file.loading import load_config
from gateway.referrals.peer_link import PeerUnreachable
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from tests.config import config_samples
from tests.referrals.memory_links import answer_to
from tests.referrals.scripted_peer import ScriptedPeer, answering

DEEP = "la:tracking:deep"


def described(question: Question) -> Answer:
    response = b"{}" if question.kind is Kind.DESCRIBE else b""
    return answer_to(question, mount=DEEP, response=response)


@asynccontextmanager
async def asked(directory: Path) -> AsyncIterator[tuple[Config, TreeSettings, ScriptedPeer]]:
    """The gateway ``gw`` with a child ``deep``, both with certificates of the same authority."""
    ca = Authority(directory / "peers")
    async with ScriptedPeer(ca, "deep", answering(described)) as peer:
        yield *_loaded(directory, ca, peer), peer


def _loaded(directory: Path, ca: Authority, peer: ScriptedPeer) -> tuple[Config, TreeSettings]:
    child = {"name": "deep", "mount": DEEP, "addresses": [str(peer.address)]}
    own = ca.peer("gw")
    tls = {"ca": str(ca.file), "certificate": str(own.certificate), "key": str(own.key)}
    values = config_samples.tree_values(tree={"tls": tls, "children": [child]})
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    config = load_config(path)
    assert config.tree is not None
    return config, config.tree


async def test_a_peer_is_asked_with_the_gateways_certificate(tmp_path: Path) -> None:
    async with asked(tmp_path) as (config, tree, peer):
        with Asker(config, tree) as asker:
            (child,) = asker.peers
            answer = await asker.describe(child)
            assert (answer.outcome, answer.response) == (Outcome.ANSWERED, b"{}")
            answer = await asker.ask(Kind.LOCATE, f"{DEEP}:x")
            assert (answer.outcome, answer.mount) == (Outcome.ANSWERED, DEEP)
            assert [hop.gateway_id for hop in answer.hops] == ["gw", "owner"]
        itself, located = peer.questions
        assert (itself.kind, itself.hops, itself.path) == (Kind.DESCRIBE, 0, ())
        assert (located.target, located.path, located.hops) == (f"{DEEP}:x", ("gw",), 15)
        assert {itself.principal, located.principal} == {PRINCIPAL}
        assert all(0 < one.seconds <= SECONDS for one in peer.questions)


async def test_own_paths_and_those_without_a_way_ask_nobody(tmp_path: Path) -> None:
    async with asked(tmp_path) as (config, tree, peer):
        with Asker(config, tree) as asker:
            own = await asker.ask(Kind.LOCATE, "ny:tracking:x")
            assert own.outcome is Outcome.NO_SUCH_MOUNT
            assert own.text == "It is in ':ny:tracking', which is this gateway's own."
            nobody = await asker.ask(Kind.LOCATE, "sf")
            assert nobody.outcome is Outcome.NO_SUCH_MOUNT
        assert peer.accepted == 0


async def test_a_peer_that_does_not_respond(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The caller reports it; the log adds nothing."""
    async with asked(tmp_path) as (config, tree, peer):
        await peer.stop()
    with Asker(config, tree) as asker:
        (child,) = asker.peers
        with pytest.raises(PeerUnreachable) as raised:
            await asker.describe(child)
        assert str(peer.address) in raised.value.reason
        answer = await asker.ask(Kind.LOCATE, DEEP)
        assert answer.outcome is Outcome.UNREACHABLE
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger().handlers)
    assert capsys.readouterr().err == ""
