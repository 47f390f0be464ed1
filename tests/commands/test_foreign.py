"""gateway.commands.admin, if a broker responds."""

from __future__ import annotations

import pytest

from gateway.commands.admin import may_be_a_brokers
from gateway.commands.errors import Outcome
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import Said, configs, topics

INVALID = "Topic name is invalid: 'org:' contains one or more characters other than ASCII alphanum"
INVALID = INVALID + "erics, '.', '_' and '-'"
UNKNOWN = "This server does not host this topic-partition."


@pytest.mark.parametrize(
    ("name", "code", "message", "may_be"),
    [
        ("org:", 17, INVALID, True),
        ("org:a", 17, "", True),
        ("org:a", 3, UNKNOWN, True),
        ("a", 17, INVALID, False),
        ("org:a", 17, "InvalidNamespaceException: namespace 'org' does not exist.", False),
        ("org:a", 3, "", False),
        ("org:a", 0, "", False),
    ],
)
def test_what_a_broker_says(name: str, code: int, message: str, may_be: bool) -> None:
    assert may_be_a_brokers(Outcome(name, code, "", message)) is may_be


async def asked_of_a_broker(api: str, rejection: tuple[int, str], *words: str) -> tuple[Said, str]:
    async with FakeGateway() as broker:
        broker.rejections[api].append(rejection)
        broker.rejections["DescribeConfigs"].append((17, INVALID))
        ask = configs if words[0] == "--alter" else topics
        return await ask(broker, *words), broker.address


@pytest.mark.parametrize(
    ("api", "rejection", "words"),
    [
        ("CreateTopics", (17, INVALID), ["--create", "--namespace", "org"]),
        ("CreateTopics", (17, INVALID), ["--create", "--topic", "org:a", "--if-not-exists"]),
        ("DeleteTopics", (3, UNKNOWN), ["--delete", "--topic", "org:a", "--if-exists"]),
        ("Metadata", (17, ""), ["--describe", "--topic", "org:a"]),
        ("IncrementalAlterConfigs", (17, INVALID), ["--alter", "--topic", "org:a"]),
    ],
)
async def test_a_broker_is_told_from_a_gateway(
    api: str, rejection: tuple[int, str], words: list[str]
) -> None:
    more = ["--add-config", "a=1"] if words[0] == "--alter" else []
    said, address = await asked_of_a_broker(api, rejection, *words, *more)
    assert (said.status, said.out) == (69, "")
    assert said.err == (
        f"kafka-gateway: {address} is a Kafka broker, not a gateway; give the address of a "
        "listener\n"
    )


async def test_a_gateway_that_says_the_same_is_none() -> None:
    async with FakeGateway("org") as gateway:
        gateway.rejections["DeleteTopics"].append((3, UNKNOWN))
        said = await topics(gateway, "--delete", "--topic", "org:a", "--if-exists")
        assert (said.status, said.out) == (0, "Topic org:a does not exist.\n")
        assert len(gateway.asked("DescribeConfigs")) == 1
