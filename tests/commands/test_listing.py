"""gateway.commands.topics.command: topics --list."""

from __future__ import annotations

import pytest

from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import topics

WORDS = "Topic name is invalid: ':' contains one or more characters other than ASCII alphanumerics"
TOPICS = ["plain", "org:orders", "org:apache:events", "org:apache:kafka:log", "orga:x"]


@pytest.fixture(params=["colon", "legal"])
def gateway(request: pytest.FixtureRequest) -> FakeGateway:
    """On a listener of either spelling, which lists namespaces as well."""
    found = FakeGateway("org:apache:kafka", "org:spark", "orga", spelling=request.param)
    found.lists_namespaces = True
    return found.add(*TOPICS)


async def test_the_default_namespace(gateway: FakeGateway) -> None:
    """As kafka-topics lists where nobody uses namespaces: topic names, no namespaces."""
    async with gateway:
        said = await topics(gateway.add("a..b"), "--list")
        assert (said.status, said.err) == (0, "")
        assert said.lines == ["a..b", "plain"]


async def test_under_and_in_a_namespace(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--namespace", "org")
        assert (said.status, said.err) == (0, "")
        assert said.lines == ["org:apache:", "org:apache:kafka:", "org:spark:", "org:orders"]


async def test_the_root(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--namespace", "")
        namespaces = ["org:", "org:apache:", "org:apache:kafka:", "org:spark:", "orga:"]
        assert said.lines == [*namespaces, "plain"]


async def test_recursive(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--namespace", "org", "--recursive")
        assert said.lines[3:] == ["org:orders", "org:apache:events", "org:apache:kafka:log"]


async def test_what_is_being_deleted(gateway: FakeGateway) -> None:
    async with gateway:
        gateway.deleting["org:spark"] = 99
        said = await topics(gateway, "--list", "--namespace", "org")
        assert said.lines[2:] == ["org:spark: - marked for deletion", "org:orders"]
        said = await topics(gateway, "--list", "--namespace", "org", "--json")
        assert said.json["namespaces"] == ["org:apache", "org:apache:kafka", "org:spark"]
        assert said.json["deleting"] == ["org:spark"]


async def test_json(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--namespace", "org", "--json")
        assert said.json == {
            "namespace": "org",
            "namespaces": ["org:apache", "org:apache:kafka", "org:spark"],
            "deleting": [],
            "topics": [
                {"name": "org:orders", "namespace": "org", "topic": "orders", "kind": "user"}
            ],
        }
        said = await topics(gateway, "--list", "--json")
        assert said.json == {
            "namespace": "",
            "topics": [{"name": "plain", "namespace": "", "topic": "plain", "kind": "user"}],
        }


async def test_a_name_that_only_looks_like_a_namespace_s() -> None:
    """The default namespace's own ``org..orders``, listed with a colon, is no topic of ``org``."""
    async with FakeGateway("org") as gateway:
        gateway.add("org:orders", "org..orders", "nobody..x")
        assert (await topics(gateway, "--list")).lines == ["nobody..x", "org..orders"]
        assert (await topics(gateway, "--list", "--namespace", "org")).lines == ["org:orders"]


async def test_an_unknown_namespace(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--namespace", "nowhere")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: namespace 'nowhere' does not exist; see what does: "
            'kafka-gateway topics --list --namespace ""\n'
        )


async def test_an_address_where_nobody_knows_namespaces() -> None:
    async with FakeGateway() as broker:
        broker.rejections["DescribeConfigs"] += [(17, WORDS), (17, WORDS)]
        said = await topics(broker, "--list", "--namespace", "")
        assert (said.status, said.out) == (69, "")
        assert said.err == (
            f"kafka-gateway: {broker.address} is a Kafka broker, not a gateway; give the address "
            "of a listener\n"
        )


async def test_names_from_the_root() -> None:
    """As a listener lists them that has a home and lets names out of it."""
    async with FakeGateway("x").add("a") as gateway:
        gateway.listed = [":a", ":x:b", "c"]
        assert (await topics(gateway, "--list")).lines == ["c"]
        gateway.namespaces[":x"] = {}
        said = await topics(gateway, "--list", "--namespace", ":x")
        assert (said.status, said.lines) == (0, [":x:b"])
        said = await topics(gateway, "--list", "--namespace", ":")
        assert (said.status, said.out) == (2, "")
        assert "a listener without a home lists the root" in said.err


ELSEWHERE = (":x", "/x", "/x/")


@pytest.mark.parametrize("written", ELSEWHERE)
async def test_topics_of_another_cluster_are_not_listed_and_it_says_so(written: str) -> None:
    async with FakeGateway("x").add("a") as gateway:
        gateway.listed = ["c"]
        gateway.namespaces[":x"] = {}
        said = await topics(gateway, "--list", "--namespace", written)
        assert (said.status, said.lines) == (0, [])
        assert "use one of its listeners, or kafka-gateway tree" in said.err


async def test_recursive_needs_a_namespace(gateway: FakeGateway) -> None:
    async with gateway:
        said = await topics(gateway, "--list", "--recursive")
        assert said.status == 2
        assert "--recursive needs --namespace" in said.err
