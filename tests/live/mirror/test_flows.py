"""The same flow directly, with a gateway at the source, at the target, and at both.

The topics that arrive are the same, and are the topics that KIP-1074 names. The gate has a single
flow of few records, with a gateway at both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess
from devkit.waiting import wait_until
from tests.live.mirror import sites
from tests.live.mirror.sites import LAG, Content
from tests.live.support import clients
from tests.live.support.clients import SECONDS

PARTITIONS: Final = 4
MANY: Final = 200_000
FEW: Final = 5_000
CONFIGS: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": "777777"}

USERS: Final = ("{}-orders", "{}-orders.internal", "{}-x-internal", "mm2x.{}.internal.y", "mm2.{}")
"""Users' topics, all of which are replicated since KIP-1074."""

INTERNAL: Final = ("mm2-{}.internal", "x.{}.checkpoints.internal", "__{}", ".{}", "{}.replica")
"""Topics that MirrorMaker takes for its own or Kafka's, or leaves out by ``topics.exclude``."""

IN_GATE: Final = "few"

LONG: Final = [
    pytest.param(name, marks=pytest.mark.long("brokers"))
    for name in ("direct", "source", "target", "both")
]

NAMESPACED: Final = ("team-a:{}-orders", "team-a:{}.internal", "team-b:sub:{}-deep")
"""Users' topics in namespaces, with colons."""


@dataclass(frozen=True)
class Flow:
    """A flow of MirrorMaker; its source cluster is called ``name``."""

    name: str
    source: str
    target: str
    count: int
    namespaced: tuple[str, ...] = ()
    identity: bool = False

    @property
    def users(self) -> dict[str, str]:
        """Users' topics: the name at the source by template."""
        return {topic: topic.format(self.name) for topic in (*USERS, *self.namespaced)}

    @property
    def internal(self) -> list[str]:
        """Topics that are not replicated, by their names at the source."""
        return [topic.format(self.name) for topic in INTERNAL]

    def remote(self, topic: str) -> str:
        """The name of a topic at the target."""
        return topic if self.identity else f"{self.name}.{topic}"

    @property
    def group(self) -> str:
        """A group that reads all of the users' topics at the source."""
        return f"{self.name}-readers"


@dataclass(frozen=True)
class Outcome:
    """The topics at the target: users' topics by template, and the names of all others."""

    topics: dict[str, Content]
    others: set[str]
    offsets: dict[tuple[str, int], int]


OutcomeOf = Callable[[str], Outcome]


@pytest.fixture(scope="module")
def site_a(a: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway at the source."""
    listeners = [Listener("colon", "all"), Listener("legal", "no colons", spelling="legal")]
    with GatewayProcess(a.bootstrap_servers, listeners, ["team-a", "team-b:sub"]) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def site_b(b: KafkaCluster) -> Iterator[GatewayProcess]:
    """The gateway at the target, with a home for each source."""
    homes = ["dr:target", "dr:both", f"dr:{IN_GATE}"]
    listeners = [Listener(home[3:], "a home", home=home, list_subtree=True) for home in homes]
    namespaces = [*homes]
    for home in homes[1:]:
        namespaces += [f"{home}:team-a", f"{home}:team-b:sub"]
    with GatewayProcess(b.bootstrap_servers, listeners, namespaces) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def flows(
    a: KafkaCluster, b: KafkaCluster, site_a: GatewayProcess, site_b: GatewayProcess
) -> dict[str, Flow]:
    """All flows, by name."""
    at_a, at_b = site_a.bootstrap_servers, site_b.bootstrap_servers
    legal = tuple(topic.replace(":sub:", ".sub..").replace("a:", "a..") for topic in NAMESPACED)
    found = [
        Flow("direct", a.bootstrap_servers, b.bootstrap_servers, MANY),
        Flow("source", at_a("legal"), b.bootstrap_servers, FEW, legal),
        Flow("target", a.bootstrap_servers, at_b("target"), FEW),
        Flow("both", at_a("colon"), at_b("both"), MANY, NAMESPACED, identity=True),
        Flow(IN_GATE, at_a("colon"), at_b(IN_GATE), FEW, NAMESPACED, identity=True),
    ]
    return {flow.name: flow for flow in found}


@pytest.fixture(scope="module")
def outcome_of(flows: dict[str, Flow]) -> OutcomeOf:
    """Runs a flow when it is first requested by name.

    Topics are filled, and read by a group, while MirrorMaker works.
    """
    return cache(lambda name: _run(flows[name]))


@pytest.fixture
def outcome(name: str, outcome_of: OutcomeOf) -> Outcome:
    """The outcome of the test's flow."""
    return outcome_of(name)


def _run(flow: Flow) -> Outcome:
    sites.create(flow.source, [*flow.users.values(), *flow.internal], PARTITIONS, CONFIGS)
    each = flow.count // len(flow.users)
    settings = dict(sites.IDENTITY) if flow.identity else {}
    # The other flows' topics are at the source as well.
    settings["topics"] = settings["groups"] = f".*{flow.name}.*"
    clusters = {flow.name: flow.source, f"{flow.name}-to": flow.target}
    with MirrorMakerProcess(clusters, [(flow.name, f"{flow.name}-to")], settings):
        with ThreadPoolExecutor(2) as pool:
            topics = list(flow.users.values())
            read = pool.submit(sites.read, flow.source, flow.group, topics, each * len(topics))
            for topic in topics:
                sites.fill(flow.source, topic, each, PARTITIONS)
            for topic in flow.internal:
                sites.fill(flow.source, topic, PARTITIONS, PARTITIONS)
            read.result()
        for topic in topics:
            sites.await_records(flow.target, flow.remote(topic), each)
        offsets = _translated(flow)
        found = {
            template: sites.content(flow.target, flow.remote(topic))
            for template, topic in flow.users.items()
        }
        remote = {flow.remote(topic) for topic in topics}
        # The reverse flow, which starts by itself, writes the source's heartbeats.
        wait_until(
            lambda: f"{flow.name}.heartbeats" in clients.listed(flow.target),
            f"heartbeats of {flow.name}",
            SECONDS,
        )
        others = clients.admin(flow.target).list_topics(timeout=SECONDS).topics.keys() - remote
    mine = {one.replace(flow.name, "{}") for one in others if flow.name in one}
    return Outcome(found, mine, offsets)


def _translated(flow: Flow) -> dict[tuple[str, int], int]:
    """The group's offsets at the target, once MirrorMaker has translated its last offsets."""
    remote = [flow.remote(topic) for topic in flow.users.values()]
    ends = sites.ends(flow.target, remote)
    found: dict[tuple[str, int], int] = {}

    def translated() -> bool:
        found.update(sites.committed(flow.target, flow.group, remote))
        return all(found.get(at, -1) >= end - LAG for at, end in ends.items())

    wait_until(translated, f"translated offsets of {flow.group}", SECONDS, poll=0.5)
    return found


@pytest.mark.parametrize("name", [IN_GATE, *LONG])
def test_every_topic_of_a_user_arrives_byte_for_byte(
    name: str, flows: dict[str, Flow], outcome: Outcome
) -> None:
    flow = flows[name]
    found = outcome.topics
    for template, topic in flow.users.items():
        assert found[template].partitions == sites.content(flow.source, topic).partitions, topic


@pytest.mark.parametrize("name", [IN_GATE, *LONG])
def test_no_internal_topic_arrives(name: str, flows: dict[str, Flow], outcome: Outcome) -> None:
    assert not outcome.others & {topic.format("{}") for topic in INTERNAL}
    listed = clients.admin(flows[name].target).list_topics(timeout=SECONDS).topics
    assert not {flows[name].remote(topic) for topic in flows[name].internal} & listed.keys()


@pytest.mark.parametrize("name", LONG[1:])
def test_the_outcome_is_that_of_a_flow_without_a_gateway(
    outcome: Outcome, outcome_of: OutcomeOf
) -> None:
    direct = outcome_of("direct")
    for template in USERS:
        assert outcome.topics[template].configs == direct.topics[template].configs, template
    assert outcome.others == direct.others


@pytest.mark.parametrize("name", [IN_GATE, *LONG])
def test_offsets_are_translated_as_mirrormaker_promises(
    name: str, flows: dict[str, Flow], outcome: Outcome
) -> None:
    flow = flows[name]
    ends = sites.ends(flow.target, [flow.remote(topic) for topic in flow.users.values()])
    for at, offset in outcome.offsets.items():
        assert ends[at] - LAG <= offset <= ends[at], at
