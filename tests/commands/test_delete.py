"""gateway.commands.topics.delete: topics --delete."""

from __future__ import annotations

import asyncio

import pytest

from gateway import cli
from gateway.commands import output as progress
from gateway.commands.admin import Admin
from gateway.commands.client import GatewayClient
from gateway.commands.topics.delete import delete
from tests.commands.fake_gateway import FakeGateway, drop_after
from tests.commands.running import topics


async def test_a_topic() -> None:
    async with FakeGateway("org").add("org:orders", "org:events") as gateway:
        said = await topics(gateway, "--delete", "--namespace", "org", "--topic", "orders")
        assert (said.status, said.out, said.err) == (0, "Deleted topic org:orders.\n", "")
        assert gateway.named() == {"org:events"}
        said = await topics(gateway, "--delete", "--topic", "org:events", "--json")
        assert said.json == {"topic": "org:events", "deleted": True}


async def test_a_topic_that_is_not_there() -> None:
    async with FakeGateway("org") as gateway:
        delete = ["--delete", "--topic", "org:orders"]
        said = await topics(gateway, *delete)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: topic 'org:orders' was not deleted: No topic 'org:orders'. "
            "[UNKNOWN_TOPIC_OR_PARTITION]; see what there is: "
            "kafka-gateway topics --list --namespace org\n"
        )
        said = await topics(gateway, *delete, "--if-exists")
        assert (said.status, said.out, said.err) == (0, "Topic org:orders does not exist.\n", "")
        said = await topics(gateway, *delete, "--if-exists", "--json")
        assert said.json == {"topic": "org:orders", "deleted": False}


async def test_what_an_unanswered_attempt_deleted_is_deleted() -> None:
    async with FakeGateway("org").add("org:orders") as gateway:
        gateway.faults["DeleteTopics"].append(drop_after)
        said = await topics(gateway, "--delete", "--topic", "org:orders")
        assert (said.status, said.out) == (0, "Deleted topic org:orders.\n")


async def test_a_namespace_goes_with_its_topics_and_is_waited_for() -> None:
    async with FakeGateway("org", "team-a").add("org:a", "org:b", "team-a:c") as gateway:
        gateway.polls = 2
        said = await topics(gateway, "--delete", "--namespace", "org")
        assert (said.status, said.out, said.err) == (0, "Deleted namespace org.\n", "")
        assert set(gateway.namespaces) == {"team-a"}
        assert gateway.named() == {"team-a:c"}


async def test_namespaces_within_are_named_in_a_warning() -> None:
    async with FakeGateway("org:apache:kafka").add("org:a") as gateway:
        said = await topics(gateway, "--delete", "--namespace", "org")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: warning: Namespace 'org' holds namespaces: org:apache, "
            "org:apache:kafka; nothing was deleted; --recursive deletes them too\n"
        )
        assert gateway.asked("DeleteTopics") == []
        assert gateway.named() == {"org:a"}


async def test_recursive_names_all_of_them_in_one_request() -> None:
    async with FakeGateway("org:apache:kafka", "org:spark").add("org:apache:a") as gateway:
        said = await topics(gateway, "--delete", "--namespace", "org", "--recursive")
        assert (said.status, said.err) == (0, "")
        deleted = ["org", "org:apache", "org:apache:kafka", "org:spark"]
        assert said.lines == [f"Deleted namespace {one}." for one in deleted]
        (request,) = gateway.asked("DeleteTopics")
        assert [one.name for one in request.topics] == [f"{one}:" for one in deleted]
        assert (gateway.namespaces, gateway.topics) == ({}, {})


async def test_old_versions_of_the_request() -> None:
    async with FakeGateway("org") as gateway:
        gateway.highest["DeleteTopics"] = 5
        assert (await topics(gateway, "--delete", "--namespace", "org")).status == 0
        assert gateway.asked("DeleteTopics")[0].topic_names == ("org:",)


async def test_recursive_takes_in_what_is_made_meanwhile() -> None:
    async with FakeGateway("org:apache") as gateway:
        gateway.before["DeleteTopics"] = lambda: gateway.namespaces.update({"org:late": {}})
        said = await topics(gateway, "--delete", "--namespace", "org", "--recursive")
        assert (said.status, said.err) == (0, "")
        assert "Deleted namespace org:late." in said.lines
        assert gateway.namespaces == {}


async def test_one_that_appears_without_recursive_is_warned_of() -> None:
    async with FakeGateway("org") as gateway:
        gateway.before["DeleteTopics"] = lambda: gateway.namespaces.update({"org:late": {}})
        said = await topics(gateway, "--delete", "--namespace", "org")
        assert said.status == 1
        assert "warning: Namespace 'org' holds namespaces: org:late;" in said.err


async def test_a_rejection_is_told_as_it_is() -> None:
    async with FakeGateway("org") as gateway:
        gateway.rejections["DeleteTopics"].append((42, "Never on a Friday."))
        said = await topics(gateway, "--delete", "--namespace", "org", "--recursive")
        assert said.status == 1
        assert said.err == (
            "kafka-gateway: namespace 'org' was not deleted: Never on a Friday. [INVALID_REQUEST]\n"
        )


async def test_no_wait() -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        said = await topics(gateway, "--delete", "--namespace", "org", "--no-wait")
        assert (said.status, said.out) == (0, "Namespace org is marked for deletion.\n")
        assert gateway.named() == {"org:a"}
        # The same command without it finds the namespace being deleted, and waits.
        said = await topics(gateway, "--delete", "--namespace", "org", "--json")
        assert said.json == {"namespace": "org", "state": "deleted", "namespaces": ["org"]}
        assert gateway.namespaces == {}


async def test_a_namespace_that_is_not_there() -> None:
    async with FakeGateway() as gateway:
        said = await topics(gateway, "--delete", "--namespace", "org")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: namespace 'org' does not exist, so nothing was deleted; see what "
            'does: kafka-gateway topics --list --namespace ""\n'
        )
        said = await topics(gateway, "--delete", "--namespace", "org", "--if-exists")
        assert (said.status, said.out) == (0, "Namespace org does not exist.\n")
        said = await topics(gateway, "--delete", "--namespace", "org", "--if-exists", "--json")
        assert said.json == {"namespace": "org", "state": "absent", "namespaces": []}


async def test_progress_and_the_end_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.05)
    async with FakeGateway("org") as gateway:
        gateway.polls = 10**6
        said = await topics(gateway, "--delete", "--namespace", "org", "--timeout", "0.3")
        assert (said.status, said.out) == (1, "")
        *lines, last = said.err.splitlines()
        still = "deleting namespace 'org': no topics left, but still marked ("
        marked = [line.startswith(still) for line in lines]
        # The first lines may be printed before the gateway responds.
        assert marked[-1] and marked == sorted(marked)
        assert all("so far" in line for line in lines[1:])
        assert last == (
            "kafka-gateway: namespace 'org' is marked for deletion, but 0 topics of it are still "
            "there after 0.3 s without progress; the gateway goes on, and the same command waits "
            "for it again"
        )


async def test_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    """The work that was begun is printed."""
    async with FakeGateway("org") as gateway:
        gateway.polls = 10**6
        words = ["--bootstrap-server", gateway.address, "--delete", "--namespace", "org"]
        options = cli.parser().parse_args(["topics", *words])
        client = GatewayClient(options.bootstrap_server)
        waiting = asyncio.create_task(delete(Admin(client), options))
        while not gateway.asked("DeleteTopics"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        client.close()
    assert capsys.readouterr().err == (
        "kafka-gateway: namespace 'org' is marked for deletion, and the gateway goes on\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--namespace", ""],
        ["--topic", "a", "--recursive"],
        ["--topic", "a", "--no-wait"],
        ["--namespace", "org", "--validate-only"],
    ],
)
async def test_what_makes_no_sense(words: list[str]) -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(gateway, "--delete", *words)
        assert (said.status, said.out) == (2, "")
        assert gateway.requests == []
