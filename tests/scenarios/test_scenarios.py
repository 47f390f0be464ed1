"""Scenarios: a request of an API, for each of its versions, from the client to the client.

Each YAML file in this folder is about a single API. A scenario has the request of the ``client``,
the request that the ``broker`` gets (null if it gets no request; by default the client's), its
``reply``, and the response that the client ``gets``; only the fields that are written are compared.
A request that the gateway carries out itself, over connections of its own, goes to a broker in
memory: such a scenario has ``then`` in place of ``broker`` and ``reply``, the flat topics and their
configs afterwards. ``allowed`` lists the only rights of the client, such as ``READ TOPIC
team-a:orders``; or ``acls`` lists the catalog's ACLs, such as ``ALLOW READ User:alice
TOPIC:LITERAL:team-a:orders``, for User:alice, and ``acls_then`` the ACLs afterwards. ``links`` maps
links to the flat names of their topics; ``client_metrics`` has the subscriptions of client metrics
with their configs, and ``client_metrics_then`` those afterwards. If there is neither ``allowed``
nor ``acls``, there is no authorizer. ``policies`` are as in a configuration; without them the
defaults apply. See entities.py for how messages are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.acls.authorizer import Authorizer
from gateway.acls.standard import StandardAuthorizer
from gateway.apis.table import APIS
from gateway.apis.topics.metadata_messages import FORBIDS_AUTO_CREATION
from gateway.catalog.entities import Change, ClientMetrics, Link, TopicEntry
from gateway.config.policies import PolicySettings
from gateway.exchanges.api import Api
from gateway.names import LogicalName, decode
from gateway.policies.tree import Policies
from protocol import messages
from tests.changes.acl_requests import entities, held
from tests.scenarios.entities import difference, entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, topic_id

HERE = Path(__file__).parent
VIEW_KEYS = (
    "home",
    "spelling",
    "escape",
    "list_namespaces",
    "list_subtree",
    "namespaces",
    "topics",
    "node_ids",
)
KEYS = {
    "title",
    "versions",
    "allowed",
    "acls",
    "acls_then",
    "links",
    "client_metrics",
    "client_metrics_then",
    "policies",
    "client",
    "broker",
    "reply",
    "then",
    "gets",
    "sent_as",
    *VIEW_KEYS,
}


@dataclass(frozen=True)
class Scenario:
    """A scenario at a version."""

    api: str
    version: int
    steps: dict[str, Any]


@cache
def documents() -> list[tuple[Path, Any]]:
    """The content of each file. libyaml reads all of them in the time in which Python reads a
    tenth, and each process reads them when it imports this."""
    return [
        (path, yaml.load(path.read_text(), yaml.CSafeLoader))
        for path in sorted(HERE.glob("*.yaml"))
    ]


def scenarios() -> Iterator[Any]:
    for path, document in documents():
        api = document["api"]
        for steps in document["scenarios"]:
            unknown = steps.keys() - KEYS
            assert not unknown, f"{path.name}: unknown keys {unknown}"
            for version in versions(api, steps.get("versions")):
                name = f"{api}-v{version}-{steps['title']}".replace(" ", "-")
                yield pytest.param(Scenario(api, version, steps), id=name)


def versions(api: str, text: str | int | None) -> range:
    """``"1-9"``, ``"7-"`` or ``3``; every version that is served if there is no text."""
    row = next(row for row in APIS.values() if row.name == api)
    if text is None:
        return range(row.first, row.last + 1)
    first, dash, last = str(text).partition("-")
    end = (int(last) if last else row.last) if dash else int(first)
    return range(int(first), end + 1)


@pytest.mark.parametrize("scenario", list(scenarios()))
def test_scenario(scenario: Scenario) -> None:
    steps, version = scenario.steps, scenario.version
    pair, asked = beginning(scenario)
    if not {"then", "acls_then", "client_metrics_then"}.isdisjoint(steps):
        pair.send(request_frame(scenario.api, version, asked))
        wrong = difference(steps["gets"], pair.answer(scenario.api, version))
        assert not wrong, f"the client got {wrong}"
        if "then" in steps:
            now = {flat: topic.configs for flat, topic in pair.broker.topics.items()}
            assert now == steps["then"]
        if "acls_then" in steps:
            assert held(pair.catalog.snapshot) == set(steps["acls_then"])
        if "client_metrics_then" in steps:
            held_now = pair.catalog.snapshot.client_metrics
            found = {name: dict(one.configs) for name, one in held_now.items()}
            assert found == steps["client_metrics_then"]
        return
    seen = pair.ask(scenario.api, version, asked)
    expected = steps.get("broker", steps["client"])
    if expected is None:
        assert seen is None, f"the broker was asked {seen}"
        got = pair.answer(scenario.api, version)
    else:
        assert seen is not None, "the broker was not asked"
        wrong = difference(expected, seen)
        assert not wrong, f"the broker saw {wrong}"
        sent_as = version_sent(scenario, pair)
        assert pair.asked_as in (sent_as, None)
        response_class = messages.message_class(f"{scenario.api}Response", sent_as)
        reply = entity(response_class, steps["reply"])
        got = pair.reply(scenario.api, version, reply, sent=sent_as)
    wrong = difference(steps["gets"], got)
    assert not wrong, f"the client got {wrong}"


def beginning(scenario: Scenario) -> tuple[Pair, Any]:
    """The session of a scenario, and the client's request."""
    steps = scenario.steps
    settings = {key: steps[key] for key in VIEW_KEYS if key in steps}
    policies = Policies(PolicySettings.model_validate(steps.get("policies", {})))
    pair = Pair(**settings, authorizer=authorizer_of(steps), policies=policies)
    if "acls" in steps:
        pair.log.append(entities(steps["acls"]))
        pair.catalog_changed()
    if "client_metrics" in steps:
        given = steps["client_metrics"]
        pair.log.append([ClientMetrics(name, configs) for name, configs in given.items()])
        pair.catalog_changed()
    if "links" in steps:
        pair.log.append(links(steps["links"]))
        pair.catalog_changed()
    request_class = messages.message_class(f"{scenario.api}Request", scenario.version)
    return pair, entity(request_class, steps["client"])


def version_sent(scenario: Scenario, pair: Pair) -> int:
    """The version of the request that the broker got."""
    old_metadata = scenario.api == "Metadata" and scenario.version < FORBIDS_AUTO_CREATION
    if "sent_as" not in scenario.steps and old_metadata and pair.asked_as == FORBIDS_AUTO_CREATION:
        return FORBIDS_AUTO_CREATION
    version: int = scenario.steps.get("sent_as", scenario.version)
    return version


def links(led: dict[str, str]) -> list[Change]:
    """Links, each with the entry of its topic; the first has topic id 77."""
    made: list[Change] = []
    for number, (name, flat) in enumerate(led.items(), start=77):
        made += [TopicEntry(flat, decode(flat)), Link(_logical(name), flat, topic_id(number).bytes)]
    return made


def _logical(name: str) -> LogicalName:
    namespace, _, topic = name.rpartition(":")
    return LogicalName(namespace, topic)


def authorizer_of(steps: dict[str, Any]) -> Authorizer | None:
    """The authorizer of a scenario, if it has one."""
    if "allowed" in steps:
        return Allowing(steps["allowed"])
    return StandardAuthorizer() if "acls" in steps else None


def versions_without(
    counts: Callable[[Scenario], bool], apis: Iterable[Api]
) -> dict[str, list[int]]:
    """The versions of each API for which there is no such scenario."""
    found: dict[str, set[int]] = {}
    for parameter in scenarios():
        scenario = parameter.values[0]
        if counts(scenario):
            found.setdefault(scenario.api, set()).add(scenario.version)
    missing = {api.name: sorted(set(api.versions) - found.get(api.name, set())) for api in apis}
    return {name: versions for name, versions in missing.items() if versions}


def test_every_declared_api_has_scenarios_for_every_version() -> None:
    assert not versions_without(lambda scenario: True, APIS.values())


WITHOUT_ACCESS = {
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate"),
    *("GetTelemetrySubscriptions", "PushTelemetry"),
}
"""The APIs that need no operation."""


def test_every_declared_api_has_scenarios_of_access() -> None:
    apis = [api for api in APIS.values() if api.name not in WITHOUT_ACCESS]
    assert not versions_without(lambda each: not {"allowed", "acls"}.isdisjoint(each.steps), apis)
