"""Rows of docs/access.md's truth table, done with aiokafka and with Kafka's own Java tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from devkit import java
from devkit.java import JavaResult
from gateway.acl_model import Operation, PatternType, ResourcePattern, ResourceType
from tests.docs.access_table import AddsAcls, Does, Row
from tests.live.access.actions import READERS, error_name, undo, written
from tests.live.support import authorized, clients, java_tools


def is_about_records(row: Row) -> bool:
    """Whether a row is about reading or writing a topic."""
    action = row.action
    return (
        isinstance(action, Does)
        and action.operation in (Operation.READ, Operation.WRITE)
        and action.pattern.type is ResourceType.TOPIC
    )


async def aiokafka_answer(servers: str, row: Row) -> str:
    """``allowed``, or the name of the error that aiokafka raises."""
    action = row.action
    assert isinstance(action, Does)
    topic = written(row.user, action.pattern.name)
    act = _write if action.operation is Operation.WRITE else _read
    try:
        async with asyncio.timeout(clients.SECONDS):
            await act(servers, row.user, topic)
    except KafkaError as error:
        return error_name(error.errno)
    return error_name(0)


def _login(servers: str, user: str) -> dict[str, str]:
    return {
        "bootstrap_servers": servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": authorized.PASSWORDS[user],
    }


async def _read(servers: str, user: str, topic: str) -> None:
    settings = {"group_id": READERS, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    client = AIOKafkaConsumer(topic, **_login(servers, user), **settings)
    try:
        await client.start()
        await client.getone()
    finally:
        await client.stop()


async def _write(servers: str, user: str, topic: str) -> None:
    client = AIOKafkaProducer(**_login(servers, user))
    await client.start()
    try:
        await client.send_and_wait(topic, b"x", partition=0)
    finally:
        await client.stop()


# -- Java -------------------------------------------------------------------------------------


def is_for_tools(row: Row) -> bool:
    """Whether a row creates topics, for kafka-topics, or adds ACLs, for kafka-acls."""
    action = row.action
    return isinstance(action, AddsAcls) or (
        isinstance(action, Does) and action.operation is Operation.CREATE
    )


def java_answer(servers: str, row: Row, directory: Path) -> JavaResult:
    """The response that Kafka's own tool prints; a topic that it created is deleted."""
    config = ["--command-config", str(authorized.command_config(directory, row.user))]
    if isinstance(row.action, AddsAcls):
        user = ["--allow-principal", "User:bob", "--operation", "Read"]
        return java_tools.attempt(
            java.ACLS, servers, *config, "--add", *user, *_flags(row.action.pattern)
        )
    assert isinstance(row.action, Does)
    name = row.action.pattern.name
    arguments = ["--create", "--topic", name, "--partitions", "1", "--replication-factor", "1"]
    result = java_tools.attempt(java.TOPICS, servers, *config, *arguments)
    if result.returncode == 0:
        undo(lambda: authorized.admin(servers).delete_topics([name])[name])
    return result


_FLAGS: dict[ResourceType, Callable[[str], Sequence[str]]] = {
    ResourceType.TOPIC: lambda name: ["--topic", name],
    ResourceType.GROUP: lambda name: ["--group", name],
}


def _flags(pattern: ResourcePattern) -> list[str]:
    prefixed = pattern.pattern_type is PatternType.PREFIXED
    more = ["--resource-pattern-type", "prefixed"] if prefixed else []
    return [*_FLAGS[pattern.type](pattern.name), *more]
