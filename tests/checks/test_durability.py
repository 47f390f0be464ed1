"""gateway.checks.cluster: acks=all that a single replica acknowledges."""

from __future__ import annotations

from typing import Any, get_type_hints

from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.checks.cluster import hollow_topics
from gateway.config.policies import PolicySettings
from gateway.policies.tree import Policies
from protocol import messages
from protocol.messages import Request
from protocol.schema import field_type
from tests.brokers.asks_no_broker import AsksNoBroker

SNAPSHOT = Snapshot().apply([Namespace("org"), Namespace("team")], 2)


class Asked(AsksNoBroker):
    """A broker that has these values of min.insync.replicas, by topic."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.asked: list[str] = []

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """The configs of the topics."""
        assert (request.name, changes) == ("DescribeConfigsRequest", False)
        entity = request.entity(request.at_most)
        cls = messages.message_class("DescribeConfigsResponse", request.at_most)
        result: Any = field_type(get_type_hints(cls)["results"])[0]
        config: Any = field_type(get_type_hints(result)["configs"])[0]
        results = []
        for resource in entity.resources:
            assert resource.configuration_keys == ("min.insync.replicas",)
            self.asked.append(resource.resource_name)
            value = self.values.get(resource.resource_name)
            configs = [messages.build(config, name="min.insync.replicas", value=value)]
            results.append(
                messages.build(
                    result,
                    resource_name=resource.resource_name,
                    configs=tuple(configs if value is not None else ()),
                )
            )
        return messages.build(cls, results=tuple(results))


def policies(**values: Any) -> Policies:
    return Policies(PolicySettings.model_validate(values))


async def told(asked: Asked, held: Policies) -> list[str]:
    flats = ["org..a", "org..b", "team..c", "plain", "__kafka_gateway_catalog"]
    return [one.text for one in await hollow_topics(asked, flats, SNAPSHOT, held)]


async def test_namespaces_ask_for_acks_all_by_default() -> None:
    asked = Asked({"org..a": "1", "org..b": "2", "team..c": "1", "plain": "1"})
    (text,) = await told(asked, policies())
    assert text.startswith(
        "producers in namespaces have to use acks=all, but if min.insync.replicas is 1 the leader"
        " may acknowledge a record that no other replica has: org:a, team:c; set"
        " min.insync.replicas=2 there"
    )
    # Policies require nothing of producers of the default namespace.
    assert asked.asked == ["org..a", "org..b", "team..c"]


async def test_each_place_that_asks_for_it() -> None:
    asked = Asked({"org..a": "1", "plain": "1"})
    held = policies(
        default_namespace={"producer": {"acks": "require"}},
        namespaces={
            "org": {"producer": {"acks": "require"}},
            "team": {"producer": {"acks": "observe"}},
        },
    )
    texts = await told(asked, held)
    assert texts[0].startswith(
        "producers subject to policies.default_namespace have to use acks=all"
    )
    assert texts[1].startswith("producers subject to policies.namespaces.org have to use acks=all")
    assert len(texts) == 2
    assert "team..c" not in asked.asked


async def test_nothing_to_say() -> None:
    assert await told(Asked({"org..a": "2", "org..b": "3"}), policies()) == []
