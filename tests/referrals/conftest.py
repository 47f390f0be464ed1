"""A peer of this process, over TLS, and a link to the peer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from devkit.certificates import Authority
from gateway.brokers.security import BrokerSecurity
from gateway.config.security import ClientTls, ClusterSecurity
from gateway.referrals.peer_link import PeerLink
from tests.referrals.scripted_peer import ANSWERS, ScriptedPeer, peer_of


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def security(ca: Authority) -> BrokerSecurity:
    mine = ca.peer("me")
    tls = ClientTls(ca=ca.file, certificate=mine.certificate, key=mine.key)
    return BrokerSecurity(ClusterSecurity(protocol="SSL", tls=tls), "tree")


@pytest_asyncio.fixture
async def peer(ca: Authority) -> AsyncIterator[ScriptedPeer]:
    async with ScriptedPeer(ca, "root", ANSWERS) as peer:
        yield peer


@pytest_asyncio.fixture
async def link(peer: ScriptedPeer, security: BrokerSecurity) -> AsyncIterator[PeerLink]:
    link = PeerLink(peer_of(peer), security)
    yield link
    link.close()
