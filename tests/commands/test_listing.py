"""gateway.commands.topics.command: topics --list."""

from __future__ import annotations

import pytest

from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import configs, topics

WORDS = "Topic name is invalid: ':' contains one or more characters other than ASCII alphanumerics"
TOPICS = ["plain", "org:orders", "org:apache:events", "org:apache:kafka:log", "orga:x"]


@pytest.fixture(params=["colon", "legal"])
def gateway(request: pytest.FixtureRequest) -> FakeGateway:
    """A gateway with a listener of either spelling, which lists namespaces as well."""
    found = FakeGateway("org:apache:kafka", "org:spark", "orga", spelling=request.param)
    found.lists_namespaces = True
    return found.add(*TOPICS)


async def test_the_default_namespace(gateway: FakeGateway) -> None:
    """As kafka-topics lists if there are no namespaces: topic names, no namespaces."""
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
    """As they are listed by a listener that has a home and lets names out of it."""
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


@pytest.mark.parametrize("spelling", ["colon", "slash", "legal"])
@pytest.mark.parametrize("words", [["--list"], ["--describe"], ["--list", "--namespace", ""]])
async def test_nothing_is_described_that_does_not_exist(spelling: str, words: list[str]) -> None:
    """The gateway would deny, log and audit that, though no user has named it."""
    async with FakeGateway("org:apache", spelling=spelling) as gateway:
        gateway.add("other..thing", "org.no..x", "org:apache:y", "a")
        said = await topics(gateway, *words)
        assert (said.status, said.err) == (0, "")
        assert "other..thing" in said.out
        described = [one for each in gateway.asked("DescribeConfigs") for one in each.resources]
        known = {"", "org", "org:apache", "other..thing", "org.no..x", "a"}
        named = {one.resource_name.replace("/", ":").removesuffix(":") for one in described}
        assert named <= known


async def test_a_listener_with_slashes() -> None:
    async with FakeGateway("search:deep", "b", spelling="slash") as gateway:
        gateway.add("search:clicks", "search:deep:x", "plain").lists_namespaces = True
        said = await topics(gateway, "--list", "--namespace", "search", "--recursive")
        assert said.lines == ["search/deep/", "search/clicks", "search/deep/x"]
        assert (await topics(gateway, "--list")).lines == ["plain"]
        said = await topics(gateway, "--list", "--namespace", "search/", "--json")
        assert (said.json["namespace"], said.json["namespaces"]) == ("search", ["search/deep"])
        assert said.json["topics"][0]["name"] == "search/clicks"
        said = await topics(gateway, "--describe", "--namespace", "search")
        assert "Namespaces: search/deep" in said.out
        said = await topics(gateway, "--describe", "--topic", "search:clicks")
        assert said.out.startswith("Topic: search/clicks\t")
        said = await topics(gateway, "--describe", "--topic", "search/no")
        assert "topic 'search/no' does not exist" in said.err
        assert "topics --list --namespace search\n" in said.err
        said = await topics(gateway, "--move", "--topic", "search/clicks", "--to-namespace", "b")
        assert (said.status, said.out) == (0, "Moved topic search/clicks to b/clicks.\n")
        said = await topics(gateway, "--create", "--namespace", "c/d")
        assert said.out == "Created namespace c/d.\n"
        said = await topics(gateway, "--create", "--topic", "c/d/new")
        assert said.out == "Created topic c/d/new.\n"
        said = await topics(gateway, "--release", "--topic", "c/d/new")
        assert "Released topic c/d/new" in said.out
        said = await topics(gateway, "--delete", "--namespace", "c")
        assert "Namespace 'c' holds namespaces: c/d" in said.err
        said = await topics(gateway, "--delete", "--namespace", "c", "--recursive")
        assert said.lines == ["Deleted namespace c.", "Deleted namespace c/d."]
        said = await configs(gateway, "--describe", "--topic", "search/deep/x")
        assert said.lines[0] == "Configs for topic search/deep/x are:"


async def test_slashes_at_a_listener_without_them() -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        said = await topics(gateway, "--describe", "--topic", "org/a")
        assert said.out.startswith("Topic: org:a\t")
