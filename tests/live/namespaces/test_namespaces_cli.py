"""The life of a namespace by ``kafka-gateway topics`` and ``configs``, KIP-37's own flags.

The tests also run every command of docs/namespaces.md, and of docs/cli.md, as it stands there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from devkit import java
from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.commands import cli_page
from tests.docs import guide
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.namespaces import INHERITED, OWN, CommandResult

Names = Callable[[str], str]
Stored = Callable[[], set[str]]


def _topics(servers: str, *args: str) -> CommandResult:
    return namespaces.command("topics", "--bootstrap-server", servers, *args)


def _rejected(servers: str, *args: str) -> str:
    """The error text of a failing ``kafka-gateway topics``."""
    said = namespaces.attempt("topics", "--bootstrap-server", servers, *args)
    assert said.status == 1, f"{args}\n{said}"
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


def test_create_list_describe(
    admin: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    root, topic = unique("org"), unique("orders")
    deepest = f"{root}:apache:kafka"
    made = _topics(admin, "--create", "--namespace", deepest)
    assert made.lines == [f"Created namespace {deepest}."]
    assert not {name for name in topics_on_broker() if root in name}
    create = ["--create", "--namespace", deepest, "--topic", topic, "--partitions", "2"]
    _topics(admin, *create, "--config", "retention.ms=3600000")
    clients.await_stored(kafka, f"{root}.apache.kafka..{topic}")
    stored = clients.admin(kafka.bootstrap_servers).list_topics(timeout=clients.SECONDS)
    assert len(stored.topics[f"{root}.apache.kafka..{topic}"].partitions) == 2

    tiers = [f"{root}:apache:", f"{deepest}:"]
    assert _topics(admin, "--list", "--namespace", root).lines == tiers
    assert _topics(admin, "--list", "--namespace", deepest).lines == [f"{deepest}:{topic}"]
    everything = _topics(admin, "--list", "--namespace", root, "--recursive").lines
    assert everything == [*tiers, f"{deepest}:{topic}"]
    described = _topics(admin, "--describe", "--namespace", f"{root}:apache").out
    assert f"Namespace: {root}:apache\tTopics: 0\tNamespaces: {deepest}\n" in described
    described = _topics(admin, "--describe", "--namespace", deepest, "--topic", topic).out
    for part in (f"{deepest}:{topic}", "PartitionCount: 2", "retention.ms=3600000"):
        assert part in described
    assert ".." not in described


def test_it_speaks_json(admin: str, kafka: KafkaCluster, unique: Names) -> None:
    root, topic = unique("org"), unique("orders")
    inside = f"{root}:a"

    def told(*args: str) -> Any:
        return json.loads(_topics(admin, *args, "--json").out)

    made = told("--create", "--namespace", inside)
    assert (made["namespace"], made["created"]) == (inside, True)
    namespaces.create_topic(admin, kafka, f"{inside}:{topic}", {"retention.ms": "3600000"})
    assert told("--list", "--namespace", root)["namespaces"] == [inside]
    listed = told("--list", "--namespace", inside)["topics"]
    name = f"{inside}:{topic}"
    assert listed == [{"name": name, "namespace": inside, "topic": topic, "kind": "user"}]
    (described,) = told("--describe", "--namespace", inside, "--topic", topic)["topics"]
    assert (described["name"], len(described["partitions"])) == (f"{inside}:{topic}", 1)
    configs = {one["name"]: one["value"] for one in described["configs"]}
    assert configs["retention.ms"] == "3600000"
    moved = told("--move", "--from-namespace", inside, "--to-namespace", root)
    assert (moved["moved"], moved["failed"]) == (1, 0)
    deleted = told("--delete", "--namespace", root, "--recursive")
    assert (deleted["state"], deleted["namespaces"]) == ("deleted", [root, inside])


def test_without_a_namespace_it_is_the_default_one(
    admin: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("plain")
    _topics(admin, "--create", "--topic", topic)
    clients.await_stored(kafka, topic)
    assert topic in _topics(admin, "--list").lines
    assert f"Topic: {topic}" in _topics(admin, "--describe", "--topic", topic).out
    _topics(admin, "--delete", "--topic", topic)
    clients.await_gone(kafka, topic)


def test_delete(admin: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names) -> None:
    """Topics alone; rejected, with their names, if there are child namespaces; all by
    ``--recursive``."""
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:a:deep:", f"{root}:b:")
    for tier in (root, f"{root}:a:deep", f"{root}:b"):
        namespaces.create_topic(admin, kafka, f"{tier}:{topic}")
    said = _rejected(admin, "--delete", "--namespace", root)
    assert f"{root}:a" in said
    assert f"{root}:b" in said
    assert f"{root}..{topic}" in topics_on_broker()
    _topics(admin, "--delete", "--namespace", f"{root}:b")
    clients.await_gone(kafka, f"{root}.b..{topic}")
    _topics(admin, "--delete", "--namespace", root, "--recursive")
    clients.await_gone(kafka, f"{root}..{topic}", f"{root}.a.deep..{topic}")
    namespaces.await_free(admin, f"{root}:")
    assert "does not exist" in _rejected(admin, "--delete", "--namespace", f"{root}:a")


def test_move(
    admin: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Move a topic, then all remaining topics of the namespace."""
    source, target = unique("from"), unique("to")
    topics = [unique("orders") for _ in range(3)]
    namespaces.create(admin, f"{source}:", f"{target}:")
    for topic in topics:
        namespaces.create_topic(colon, kafka, f"{source}:{topic}")
        clients.produce(colon, f"{source}:{topic}", [f"of {topic}"])
    stored = {f"{source}..{topic}" for topic in topics}
    move = ["--move", "--from-namespace", source, "--to-namespace"]
    _topics(admin, *move, target, "--topic", topics[0])
    found = {name for name in clients.listed(colon) if name.startswith((source, target))}
    assert found == {f"{target}:{topics[0]}", *(f"{source}:{topic}" for topic in topics[1:])}
    _topics(admin, *move, target)
    found = {name for name in clients.listed(colon) if name.startswith((source, target))}
    assert found == {f"{target}:{topic}" for topic in topics}
    here = {name for name in topics_on_broker() if source in name or target in name}
    assert here == stored
    for topic in topics:
        read = clients.consume(colon, f"{target}:{topic}", 1, unique("readers"))
        assert read == [f"of {topic}"]
    missing = f"{target}:nowhere"
    back = ["--move", "--from-namespace", target, "--to-namespace", missing, "--topic", topics[0]]
    assert f"namespace '{missing}' does not exist" in _rejected(admin, *back)


def test_configs(admin: str, colon: str, kafka: KafkaCluster, unique: Names) -> None:
    root, topic = unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:")
    namespaces.create_topic(colon, kafka, f"{root}:{topic}")
    configs = ["configs", "--bootstrap-server", admin]
    of_namespace = ["--namespace", root]
    of_topic = [*of_namespace, "--topic", topic]
    add = ["--add-config", "retention.ms=3600000,segment.ms=600000"]
    namespaces.command(*configs, "--alter", *of_namespace, *add)
    assert namespaces.describe(colon, f"{root}:{topic}")["retention.ms"] == ("3600000", INHERITED)
    namespaces.command(*configs, "--alter", *of_topic, "--add-config", "retention.ms=1800000")
    namespaces.await_configs(colon, f"{root}:{topic}", {"retention.ms": "1800000"})
    assert "retention.ms=3600000" in namespaces.command(*configs, "--describe", *of_namespace).out
    described = namespaces.command(*configs, "--describe", *of_topic).out
    assert "retention.ms=1800000" in described
    namespaces.command(*configs, "--alter", *of_topic, "--delete-config", "retention.ms")
    namespaces.command(*configs, "--alter", *of_namespace, "--delete-config", "segment.ms")
    as_json = [*configs, "--describe", *of_topic, "--json"]
    wait_until(
        lambda: "3600000" in json.dumps(json.loads(namespaces.command(*as_json).out)),
        "the end of the topic's own value",
        clients.SECONDS,
    )
    rejected = namespaces.attempt(
        *configs, "--alter", *of_namespace, "--add-config", "retention.ms=soon"
    )
    assert rejected.status == 1
    assert "retention.ms" in rejected.err

    def on_broker() -> tuple[str, int]:
        return namespaces.value_on_broker(kafka, f"{root}..{topic}", "retention.ms")

    wait_until(lambda: on_broker() == ("3600000", OWN), "the namespace's value", clients.SECONDS)


def test_how_it_ends(admin: str, unique: Names) -> None:
    """Exit statuses: 0 done, 1 rejected, 2 a wrong command line, 69 no response."""
    create = ["topics", "--bootstrap-server", admin, "--create", "--namespace", unique("org")]
    for status, run in ((0, namespaces.alone), (1, namespaces.alone), (1, namespaces.attempt)):
        said = run(*create)
        assert (said.status, bool(said.out)) == (status, not status)
    assert "already exists" in said.err
    nowhere = f"{unique('org')}:none"
    rejected = _rejected(admin, "--create", "--namespace", nowhere, "--topic", "orders")
    assert "InvalidNamespaceException" in rejected
    unclear = namespaces.alone(*create, "--list")
    assert (unclear.status, unclear.out) == (2, "")
    assert unclear == namespaces.attempt(*create, "--list")
    nobody = namespaces.alone("topics", "--bootstrap-server", "127.0.0.1:1", "--list")
    assert nobody.status == 69
    assert "127.0.0.1:1" in nobody.err
    assert "Traceback" not in nobody.err


# -- the pages --------------------------------------------------------------------------------


def test_the_guide(admin: str, admin_legal: str, kafka: KafkaCluster) -> None:
    """Every command of docs/namespaces.md, top to bottom, prints the output that the page shows."""
    addresses = {guide.ADMIN: admin, guide.ADMIN_LEGAL: admin_legal}
    for step in guide.steps():
        words = [addresses.get(word, word) for word in step.words[1:]]
        _check(words, partial(_run, step.words[0], words), step.status, step.shown)
    # Delete the page's resources, so that it can be followed again.
    namespaces.delete(kafka.bootstrap_servers, "crm.calls", "crm.mails")
    for namespace in ("crm", "shop"):
        namespaces.await_free(admin, f"{namespace}:")
        namespaces.delete(admin, f"{namespace}:")
    clients.await_gone(kafka, "crm.calls", "crm.mails")


def test_the_page_of_the_command_line(admin: str, kafka: KafkaCluster) -> None:
    """The same for docs/cli.md, as far as its commands need a gateway."""
    for step in cli_page.steps("topics", "configs"):
        words = [admin if word == cli_page.ADDRESS else word for word in step.words]
        shown = step.output.replace(cli_page.ADDRESS, admin).splitlines()
        _check(words, partial(namespaces.attempt, *words), step.status, shown)
    # Delete the page's resources, as above.
    namespaces.delete(kafka.bootstrap_servers, "sales.events")
    clients.await_gone(kafka, "sales.events")
    _topics(admin, "--delete", "--namespace", "sales")


def test_a_broker_is_told_from_a_gateway(kafka: KafkaCluster) -> None:
    broker = kafka.bootstrap_servers
    for words in (
        ["--create", "--namespace", "org"],
        ["--create", "--topic", "org:a"],
        ["--delete", "--topic", "org:a"],
        ["--describe", "--topic", "org:a"],
        ["--list", "--namespace", ""],
    ):
        said = namespaces.attempt("topics", "--bootstrap-server", broker, *words)
        assert (said.status, said.out) == (69, ""), words
        assert (
            f"{broker} is a Kafka broker, not a gateway\n  give the address of a list" in said.err
        )


_LOOKING = {"--list", "--describe"}
_LOOK_SECONDS = clients.SECONDS


def _check(
    words: Sequence[str], run: Callable[[], CommandResult], status: int, shown: Sequence[str]
) -> None:
    """Check the exit status, and that these lines are printed, in order.

    If a command reads the effect of the command before it, it is repeated, because brokers respond
    before all of them know.
    """
    said = run()
    deadline = time.monotonic() + _LOOK_SECONDS
    while time.monotonic() < deadline and (
        ("--adopt" in words and said.status != status)
        or (not _LOOKING.isdisjoint(words) and _missing(said, status, shown))
    ):
        said = run()
    missing = _missing(said, status, shown)
    assert not missing, f"{words}\nshould have {missing}, and prints\n{said.out}{said.err}"


def _missing(said: CommandResult, status: int, shown: Sequence[str]) -> str:
    if said.status != status:
        return f"the exit status {status}"
    printed, at = said.out + said.err, 0
    for line in shown:
        found = printed.find(line, at)
        if found < 0:
            return repr(line)
        at = found + len(line)
    return ""


def _run(program: str, words: list[str]) -> CommandResult:
    if program == "kafka-gateway":
        return namespaces.attempt(*words)
    ended = java_tools.server().run(java.TOOL_SCRIPTS[program], words)
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)
