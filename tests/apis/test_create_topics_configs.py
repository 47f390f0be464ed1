"""CreateTopics v5 and later: what was made is told with its configs to whom may describe them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.apis.topics.create_topics import FIRST_WITH_CONFIGS, hide_configs
from gateway.catalog.snapshot import Snapshot
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, has_field, make
from tests.session.allowing import Allowing

NAME = "CreateTopicsResponse"
VERSIONS = range(FIRST_WITH_CONFIGS, APIS[19].last + 1)


def access(*allowed: str, home: str = "") -> AuthorizedAccess:
    view = View(ViewSettings("test", home=home), Snapshot.of(["team-a", "team-b"]))
    return AuthorizedAccess(view, "User:alice", "10.0.0.1", Allowing(allowed))


def topic(version: int, name: str, error: int = 0) -> Any:
    cls = element_class(messages.message_class(NAME, version), "topics")
    config = make(element_class(cls, "configs"), {"name": "retention.ms", "value": "1"})
    made = {"num_partitions": 3, "replication_factor": 2, "configs": (config,)}
    return make(cls, {"name": name, "error_code": error, "topic_config_error_code": 0, **made})


def shown(version: int, of: AuthorizedAccess, *topics: Any) -> tuple[Any, ...]:
    body = messages.write(make(messages.message_class(NAME, version), {"topics": topics}))
    found: tuple[Any, ...] = messages.parse(NAME, version, hide_configs(version, body, of)).topics
    return found


def test_the_first_version_is_the_one_that_has_configs() -> None:
    having = [
        version
        for version in range(2, APIS[19].last + 1)
        if has_field(element_class(messages.message_class(NAME, version), "topics"), "configs")
    ]
    assert having == list(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_configs_that_may_not_be_described(version: int) -> None:
    alice = access("CREATE TOPIC team-a:x", "DESCRIBE TOPIC team-a:x")
    (told,) = shown(version, alice, topic(version, "team-a:x"))
    assert (told.error_code, told.topic_config_error_code) == (0, 29)
    assert (told.num_partitions, told.replication_factor, told.configs) == (-1, -1, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_configs_that_may(version: int) -> None:
    made = topic(version, "x"), topic(version, "team-a:x")
    alice = access("DESCRIBE_CONFIGS TOPIC team-a:x", "DESCRIBE_CONFIGS TOPIC team-a:y")
    told = shown(version, alice, *made)
    assert told[0].topic_config_error_code == 29
    assert told[1] == made[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_names_are_the_clients(version: int) -> None:
    made = topic(version, "x")
    at_home = access("DESCRIBE_CONFIGS TOPIC team-a:x", home="team-a")
    assert shown(version, at_home, made) == (made,)
    elsewhere = access("DESCRIBE_CONFIGS TOPIC x", home="team-a")
    assert shown(version, elsewhere, made)[0].configs == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_stays_as_it_is(version: int) -> None:
    failed = topic(version, "x", error=36)
    assert shown(version, access(), failed) == (failed,)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_response_that_cannot_be_read(version: int) -> None:
    with pytest.raises(ProtocolError):
        hide_configs(version, b"\x00\x00", access())
