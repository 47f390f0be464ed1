"""Which requests policies apply to; all other requests are handled as without policies."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.catalog.entities import Alias, TopicEntry
from gateway.config.policies import PolicySettings
from gateway.exchanges.exchange import Work
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair, frames, request_frame
from tests.session.producing import batch, produce

TOPICS = ["plain", "team-a..orders", "team-b..x"]
POLICY_VIOLATION = 44
TOPIC = 2
CREATE_PARTITIONS, ALTER, INCREMENTAL = (
    "CreatePartitions",
    "AlterConfigs",
    "IncrementalAlterConfigs",
)
MOVED = TopicEntry(
    "flat", LogicalName("team-a", "moved"), aliases=(Alias(LogicalName("", "old"), 1 << 60),)
)


def pair(*, entries: list[TopicEntry] | None = None, **blocks: Any) -> Pair:
    settings = PolicySettings.model_validate(blocks)
    return Pair(topics=[*TOPICS, "flat"], entries=entries or (), policies=Policies(settings))


def strict(namespace: str) -> dict[str, Any]:
    """Policies that apply to this namespace only."""
    block = {"partitions": {"max": 3}, "retention.ms": {"max": 50}}
    return {"namespaces": {namespace: block}} if namespace else {"default_namespace": block}


def growing(*names: str, count: int = 4) -> Any:
    cls = messages.message_class("CreatePartitionsRequest", 3)
    topic = element_class(cls, "topics")
    topics = tuple(
        make(topic, {"name": name, "count": count, "assignments": None}) for name in names
    )
    return make(cls, {"topics": topics})


def setting(api: str, *names: str, value: str = "60") -> Any:
    cls = messages.message_class(f"{api}Request", 1)
    resource = element_class(cls, "resources")
    config = make(element_class(resource, "configs"), {"name": "retention.ms", "value": value})
    return make(
        cls,
        {
            "resources": tuple(
                make(
                    resource,
                    {"resource_type": TOPIC, "resource_name": name, "configs": (config,)},
                )
                for name in names
            )
        },
    )


def frame(api: str, *names: str) -> bytes:
    if api == CREATE_PARTITIONS:
        return request_frame(api, 3, growing(*names))
    return request_frame(api, 1, setting(api, *names))


def items(one: Pair, api: str) -> dict[str, int]:
    answer = one.answer(api, 3 if api == CREATE_PARTITIONS else 1)
    if api == CREATE_PARTITIONS:
        return {each.name: int(each.error_code) for each in answer.results}
    return {each.resource_name: int(each.error_code) for each in answer.responses}


@pytest.mark.parametrize("api", [CREATE_PARTITIONS, ALTER, INCREMENTAL])
@pytest.mark.parametrize(("namespace", "name"), [("", "plain"), ("team-a", "team-a:orders")])
def test_what_policies_reject(api: str, namespace: str, name: str) -> None:
    one = pair(**strict(namespace))
    one.send(frame(api, name, "team-b:x"))
    assert one.to_broker() == b""
    assert items(one, api) == {name: POLICY_VIOLATION, "team-b:x": 0}
    ((resource, rule, code),) = [(d.resource, d.rule, d.code) for d in one.worker.denials]
    assert (resource, rule, code) == (name, "policies", POLICY_VIOLATION)
    flows = one.session.state.take_flows()
    assert sum(flow.errors.get(POLICY_VIOLATION, 0) for flow in flows) == 1
    assert sum(flow.denials.get("policies", 0) for flow in flows) == 1


@pytest.mark.parametrize("api", [CREATE_PARTITIONS, ALTER, INCREMENTAL])
@pytest.mark.parametrize("name", ["team-a:moved", "old"])
def test_every_name_of_a_moved_topic_leads_to_its_policies(api: str, name: str) -> None:
    one = pair(entries=[MOVED], **strict("team-a"))
    one.send(frame(api, name))
    assert one.to_broker() == b""
    assert items(one, api) == {name: POLICY_VIOLATION}


@pytest.mark.parametrize("blocks", [{}, {"everywhere": {"producer": {}}}])
@pytest.mark.parametrize("api", [CREATE_PARTITIONS, ALTER, INCREMENTAL])
def test_without_policies_the_broker_is_asked_as_ever(api: str, blocks: Any) -> None:
    one = pair(**blocks)
    one.send(frame(api, "plain"))
    assert one.to_broker() == frame(api, "plain")
    if not blocks:
        one = pair()
        one.session.client_data(frame(CREATE_PARTITIONS, "team-b:x"))
        assert one.session.waiting is None, "without policies the catalog is not looked at"


@pytest.mark.parametrize("api", [CREATE_PARTITIONS, ALTER, INCREMENTAL])
def test_no_change_waits_at_the_broker_where_there_are_policies(api: str) -> None:
    """Otherwise it would wait behind a request that is answered late, until the topic is moved to
    team-b."""
    one = pair(**strict("team-b"))
    one.send(request_frame("Produce", 9, produce({"plain": [batch(1)]}, acks=-1), 1))
    assert len(frames(one.to_broker())) == 1
    one.send(frame(api, "plain", "team-a:orders"))
    assert one.to_broker() == b""


def test_describing_configs_is_the_brokers_business() -> None:
    one = pair(**strict(""))
    cls = messages.message_class("DescribeConfigsRequest", 4)
    resource = element_class(cls, "resources")
    asked = make(resource, {"resource_type": TOPIC, "resource_name": "plain"})
    one.send(request_frame("DescribeConfigs", 4, make(cls, {"resources": (asked,)})))
    assert one.to_broker()


@pytest.mark.parametrize("version", range(4, 14))
def test_a_topic_that_is_gone_since_the_last_listing_is_not_created_again(version: int) -> None:
    """The index has the topic, so the broker gets a request for it, which forbids creating any."""
    one = pair(**strict(""))
    cls = messages.message_class("MetadataRequest", version)
    topics = (make(element_class(cls, "topics"), {"name": "plain"}),)
    values = {"topics": topics, "allow_auto_topic_creation": True}
    seen = one.ask("Metadata", version, make(cls, values))
    assert [topic.name for topic in seen.topics] == ["plain"]
    assert seen.allow_auto_topic_creation is False


def test_no_topic_is_made_or_changed_by_an_api_without_a_decision() -> None:
    """If such an API gets a decision, it has to say how policies apply to it. Replication factors
    are changed by administrators of the cluster alone (AlterPartitionReassignments,
    docs/policies.md); topics of Streams groups are created as by CreateTopics."""
    makes_or_changes = {
        "CreateTopics",
        "CreatePartitions",
        "AlterConfigs",
        "IncrementalAlterConfigs",
        "Metadata",
        "StreamsGroupHeartbeat",
    }
    assert makes_or_changes <= {row.name for row in APIS.values()}


def test_a_request_behind_one_that_is_judged_waits() -> None:
    one = pair(**strict(""))
    one.session.client_data(frame(CREATE_PARTITIONS, "plain"))
    assert isinstance(one.session.waiting, Work)


# -- auto-creation ---------------------------------------------------------------------------------


def asking(version: int, *names: str) -> Any:
    cls = messages.message_class("MetadataRequest", version)
    topics = tuple(make(element_class(cls, "topics"), {"name": name}) for name in names)
    return make(cls, {"topics": topics, "allow_auto_topic_creation": True})


@pytest.mark.parametrize(
    ("blocks", "names", "allowed"),
    [
        ({}, ["plain"], True),
        ({}, ["team-a:orders"], False),
        ({}, ["plain", "a..b"], False),
        ({"everywhere": {"producer": {"acks": "require"}}}, ["plain"], True),
        (strict("team-a"), ["team-a:orders", "team-b:x"], False),
        (strict("team-a"), ["team-a:orders", "plain"], False),
        (strict("team-a"), ["plain"], True),
        (strict(""), ["plain"], False),
        (strict(""), ["plain", "team-a:orders"], False),
        ({"default_namespace": {"mode": "warn", "max_topics": 1}}, ["plain"], True),
    ],
)
@pytest.mark.parametrize("version", [4, 8, 13])
def test_what_may_be_created_by_being_asked_for(
    blocks: Any, names: list[str], allowed: bool, version: int
) -> None:
    one = pair(**blocks)
    one.facts.index.learn(b"a..b", None)
    seen = one.ask("Metadata", version, asking(version, *names))
    assert [topic.name for topic in seen.topics] == [name.replace(":", "..") for name in names]
    assert seen.allow_auto_topic_creation is allowed


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("namespace", ["", "team-b"])
def test_an_old_client_creates_nothing_by_asking(version: int, namespace: str) -> None:
    """A topic that is deleted while the request waits at the broker is not created again by it."""
    one = pair(**strict(namespace))
    one.send(request_frame("Metadata", version, asking(version, "plain", "team-b:x")))
    (sent,) = frames(one.to_broker())
    assert sent[2:4] == b"\x00\x04", "the first version that can forbid it"
    assert sent[-1:] == b"\x00"
    cls = messages.message_class("MetadataResponse", 4)
    topic = element_class(cls, "topics")
    topics = tuple(make(topic, {"name": name}) for name in ("plain", "team-b..x"))
    answer = one.reply("Metadata", version, make(cls, {"topics": topics}), sent=4)
    assert [each.name for each in answer.topics] == ["plain", "team-b:x"]
