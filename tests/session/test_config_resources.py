"""Configs of brokers, broker loggers and groups in a session: rights that are revoked while an
answer is on its way, virtual node ids in a tree, nodes that stand for gateways, denials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.apis.table import put_around
from gateway.catalog.entities import Member
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_CONFIG,
    INVALID_REQUEST,
    LEADER_NOT_AVAILABLE,
    NOT_COORDINATOR,
)
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.node_handlers import AROUND as AROUND_OF_FLEET
from gateway.tree.splitting import AROUND as AROUND_OF_TREE
from gateway.views.view import View
from protocol import messages
from protocol.errors import ProtocolError
from tests.scenarios.entities import entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.test_audit import audited
from tests.views.trees import mounts, tree_settings

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
VERSION = 4
OF_CLUSTER = "DESCRIBE_CONFIGS CLUSTER kafka-cluster"
OF_GROUP = "DESCRIBE_CONFIGS GROUP app"
OF_TOPIC = "DESCRIBE_CONFIGS TOPIC plain"
NUMBER = 3
VIRTUAL = NUMBER << 16
GATEWAY = 1 << 30
DESCRIBABLE = [(TOPIC, "plain"), (BROKER, "1"), (GROUP, "app")]

Resource = tuple[int, str]


def asked(*resources: Resource) -> Any:
    named = [{"resource_type": kind, "resource_name": name} for kind, name in resources]
    items = [{**one, "configuration_keys": None} for one in named]
    return entity(messages.message_class("DescribeConfigsRequest", VERSION), {"resources": items})


def reply(*results: tuple[int, str] | tuple[int, str, Mapping[str, Any]]) -> Any:
    items = [
        {"resource_type": kind, "resource_name": name, **(more[0] if more else {})}
        for kind, name, *more in results
    ]
    return entity(messages.message_class("DescribeConfigsResponse", VERSION), {"results": items})


def describe(pair: Pair, *resources: Resource) -> list[Resource] | None:
    """The resources that the broker is asked for; None if it is asked for nothing."""
    sent = pair.ask("DescribeConfigs", VERSION, asked(*resources))
    if sent is None:
        return None
    return [(one.resource_type, one.resource_name) for one in sent.resources]


def answers(pair: Pair, response: Any = None) -> list[tuple[int, str, int]]:
    """The results that the client gets: type, name and error code."""
    got = (
        pair.answer("DescribeConfigs", VERSION)
        if response is None
        else pair.reply("DescribeConfigs", VERSION, response)
    )
    return [(one.resource_type, one.resource_name, int(one.error_code)) for one in got.results]


# -- rights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("revoked", [OF_CLUSTER, OF_GROUP, OF_TOPIC])
@pytest.mark.parametrize("together", [True, False])
def test_a_right_that_is_revoked_while_the_answer_is_on_its_way(
    revoked: str, together: bool
) -> None:
    rights = dict(zip((OF_TOPIC, OF_CLUSTER, OF_GROUP), DESCRIBABLE, strict=True))
    resources = DESCRIBABLE if together else [rights[revoked]]
    pair = Pair(topics=["plain"], authorizer=Allowing(rights))
    assert describe(pair, *resources) == resources
    pair.authorizer = Allowing(rights)
    pair.see(pair.view)
    assert not pair.reset, "nothing has changed"
    pair.authorizer = Allowing([*rights.keys() - {revoked}])
    pair.see(pair.view)
    assert pair.reset
    assert not pair.to_client()


def test_a_group_that_is_called_like_the_note_of_brokers() -> None:
    """The group's right does not stand for the right to brokers."""
    of_group = "DESCRIBE_CONFIGS GROUP brokers"
    pair = Pair(authorizer=Allowing([OF_CLUSTER, of_group]))
    assert describe(pair, (BROKER, "1"), (GROUP, "brokers"))
    pair.authorizer = Allowing([of_group])
    pair.see(pair.view)
    assert pair.reset


def test_a_right_to_alter_a_group_that_is_revoked() -> None:
    pair = Pair(authorizer=Allowing(["ALTER_CONFIGS GROUP app"]))
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    pair.ask("IncrementalAlterConfigs", 1, entity(cls, {"resources": [_altered("app")]}))
    pair.authorizer = Allowing([])
    pair.see(pair.view)
    assert pair.reset


def _altered(group: str, config: str = "consumer.session.timeout.ms") -> dict[str, object]:
    configs = [{"name": config, "value": "50000", "config_operation": 0}]
    return {"resource_type": GROUP, "resource_name": group, "configs": configs}


def test_denials_are_events() -> None:
    pair = Pair(topics=["plain"], authorizer=Allowing([OF_TOPIC]))
    sink = audited(pair)
    assert describe(pair, *DESCRIBABLE) == [(TOPIC, "plain")]
    assert [one["error_code"] for one in sink.data] == [
        CLUSTER_AUTHORIZATION_FAILED,
        GROUP_AUTHORIZATION_FAILED,
    ]


def test_brokers_while_the_catalog_is_out_of_date() -> None:
    pair = Pair(authorizer=Allowing([OF_CLUSTER]))
    pair.close_view()
    assert describe(pair, (BROKER, "1")) is None
    assert answers(pair) == [(BROKER, "1", LEADER_NOT_AVAILABLE)]


# -- names -----------------------------------------------------------------------------------------


def test_many_brokers_in_one_request() -> None:
    pair = Pair()
    resources = [(BROKER, "1")] * 11
    assert describe(pair, *resources) is None
    assert answers(pair) == [(BROKER, "1", INVALID_REQUEST)] * 11
    assert describe(pair, *resources[:10]) == resources[:10]


@pytest.mark.parametrize("name", ["+1", "01", "2", "-1", "x", "", "\u0661"])
def test_without_a_tree_the_broker_reads_every_name(name: str) -> None:
    pair = Pair()
    assert describe(pair, (BROKER, name), (LOGGER, name)) == [(BROKER, name), (LOGGER, name)]
    got = answers(pair, reply((BROKER, name), (LOGGER, name)))
    assert got == [(BROKER, name, 0), (LOGGER, name, 0)]


@pytest.mark.parametrize("other", [(BROKER, "2"), (GROUP, "1"), (METRICS, "1"), (LOGGER, "1")])
def test_an_answer_for_what_was_not_requested_ends_the_connection(other: Resource) -> None:
    pair = Pair()
    describe(pair, (BROKER, "1"))
    with pytest.raises(ProtocolError):
        pair.answered(response_frame("DescribeConfigs", VERSION, reply(other)))
    assert not pair.to_client()


def test_a_group_with_and_without_a_config_that_can_be_altered() -> None:
    pair = Pair()
    cls = messages.message_class("IncrementalAlterConfigsRequest", 1)
    resources = [_altered("app"), _altered("app", "errors.deadletterqueue.topic.name")]
    assert pair.ask("IncrementalAlterConfigs", 1, entity(cls, {"resources": resources})) is None
    got = pair.answer("IncrementalAlterConfigs", 1)
    assert [one.error_code for one in got.responses] == [INVALID_CONFIG] * 2


# -- in a tree -------------------------------------------------------------------------------------


def in_tree(**values: Any) -> Pair:
    """A session at a node of cluster 3 of a tree. Without lanes, as for a login that passes
    through."""
    put_around(AROUND_OF_TREE)
    pair = Pair(topics=["plain"], **values)
    pair.worker.number = NUMBER
    pair.worker.mount = "ny"
    settings = tree_settings(mounts("la", "ny"), "ny", "ny", "colon")
    pair.see(View(settings, pair.catalog.snapshot))
    return pair


def test_virtual_ids_of_the_nodes_cluster() -> None:
    pair = in_tree()
    spelled = [str(VIRTUAL | 7), f"+{VIRTUAL | 7}", f"0{VIRTUAL | 7}"]
    resources = [(BROKER, name) for name in spelled]
    logger = (LOGGER, spelled[0])
    assert describe(pair, *resources, logger) == [(BROKER, "7"), (LOGGER, "7")]
    configs = [
        {"name": "node.id", "value": "7", "synonyms": [{"name": "broker.id", "value": "7"}]},
        {"name": "num.io.threads", "value": "7"},
    ]
    levels = {"configs": [{"name": "root", "value": "INFO"}]}
    response = reply((BROKER, "7", {"configs": configs}), (LOGGER, "7", levels))
    got = pair.reply("DescribeConfigs", VERSION, response).results
    assert [(one.resource_type, one.resource_name) for one in got] == [*resources, logger]
    for one in got[:3]:
        assert [(each.name, each.value) for each in one.configs] == [
            ("node.id", str(VIRTUAL | 7)),
            ("num.io.threads", "7"),
        ]
        assert one.configs[0].synonyms[0].value == str(VIRTUAL | 7)


@pytest.mark.parametrize("name", ["7", "0", str(4 << 16 | 7), str(GATEWAY + 1), "-7", "-1"])
def test_ids_that_stand_for_no_broker_of_the_cluster(name: str) -> None:
    """The broker rejects what it gets, whichever broker of the cluster it is (16 bits)."""
    pair = in_tree()
    sent = describe(pair, (BROKER, name))
    assert sent is not None
    ((_, forwarded),) = sent
    assert int(forwarded) not in range(1 << 16)
    text = f"Unexpected broker id, expected 7 or empty string, but received {forwarded}"
    error = {"error_code": INVALID_REQUEST, "error_message": text}
    (got,) = pair.reply("DescribeConfigs", VERSION, reply((BROKER, forwarded, error))).results
    assert (got.resource_name, got.error_code) == (name, INVALID_REQUEST)
    assert got.error_message == (
        f"Unexpected broker id, expected {VIRTUAL | 7} or empty string, but received {name}"
    )


@pytest.mark.parametrize("name", ["x", "", " 7", "\u0667", "99999999999", f"{2**31}", "7_0"])
def test_names_that_are_no_ids(name: str) -> None:
    pair = in_tree()
    if not name:  # the defaults of all brokers
        assert describe(pair, (BROKER, name)) == [(BROKER, "")]
        return
    assert describe(pair, (BROKER, name)) is None
    (got,) = pair.answer("DescribeConfigs", VERSION).results
    assert (got.resource_name, got.error_code) == (name, INVALID_REQUEST)
    assert got.error_message == f"Broker id must be an integer, but it is: {name}"


def test_groups_in_each_spelling() -> None:
    pair = in_tree()
    names = ["app", ":ny:app", "/ny/app", ":la:app"]
    assert describe(pair, *((GROUP, name) for name in names)) == [(GROUP, "app")]
    assert answers(pair, reply((GROUP, "app"))) == [
        *((GROUP, name, 0) for name in names[:3]),
        (GROUP, ":la:app", NOT_COORDINATOR),
    ]


class Undivided:
    """The tree of a client, for requests that must not be divided."""

    own = "la"

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the request was divided: {name}")


@pytest.mark.parametrize("kind", [BROKER, LOGGER])
def test_a_request_that_names_a_broker_stays_at_its_node(kind: int) -> None:
    pair = in_tree(authorizer=Allowing([OF_CLUSTER, OF_TOPIC]))
    pair.session.state.tree = Undivided()
    resources = [(kind, str(VIRTUAL | 7)), (TOPIC, ":ny:plain")]
    assert describe(pair, *resources) == [(kind, "7"), (TOPIC, "plain")]
    assert answers(pair, reply((kind, "7"), (TOPIC, "plain"))) == [(*one, 0) for one in resources]
    pair.send(request_frame("DescribeConfigs", VERSION, asked(resources[0])))
    assert pair.session.under_way
    pair.authorizer = Allowing([OF_TOPIC])
    pair.see(pair.view)
    assert pair.reset


# -- at the node of a gateway ----------------------------------------------------------------------


def at_gateway_node(**values: Any) -> Pair:
    put_around(AROUND_OF_FLEET)
    pair = Pair(topics=["plain"], **values)
    members = [Member(f"gw-{n}", n, {"test": f"{n}.example:9201"}) for n in (1, 2)]
    pair.log.append(members)
    pair.catalog_changed()
    pair.worker.listed_gateways = GatewayNodes("gw-1", ["test"]).at
    pair.session.state.on_gateway_node = True
    return pair


def test_gateways_have_no_configs() -> None:
    pair = at_gateway_node()
    own = [(BROKER, str(GATEWAY + 1)), (LOGGER, str(GATEWAY + 2))]
    sink = audited(pair)
    assert describe(pair, *own) is None
    got = pair.answer("DescribeConfigs", VERSION).results
    assert [(one.resource_type, one.resource_name) for one in got] == own
    assert all((one.error_code, one.error_message, one.configs) == (0, None, ()) for one in got)
    assert not sink.data, "this is no denial"


@pytest.mark.parametrize("name", ["1", str(GATEWAY + 3), "x", str(VIRTUAL | 1)])
def test_a_gateways_node_is_no_broker(name: str) -> None:
    pair = at_gateway_node()
    assert describe(pair, (BROKER, name), (LOGGER, name)) is None
    assert answers(pair) == [(BROKER, name, INVALID_REQUEST), (LOGGER, name, INVALID_REQUEST)]


def test_any_broker_answers_for_the_rest_at_a_gateways_node() -> None:
    pair = at_gateway_node()
    own = (BROKER, str(GATEWAY + 1))
    rest = [(BROKER, ""), (TOPIC, "plain"), (GROUP, "app")]
    assert describe(pair, own, *rest) == rest
    assert answers(pair, reply(*rest)) == [(*one, 0) for one in (own, *rest)]


@pytest.mark.parametrize("name", ["1", str(GATEWAY + 1)])
def test_a_denial_at_a_gateways_node_is_an_event(name: str) -> None:
    pair = at_gateway_node(authorizer=Allowing([]))
    sink = audited(pair)
    assert describe(pair, (BROKER, name)) is None
    assert answers(pair) == [(BROKER, name, CLUSTER_AUTHORIZATION_FAILED)]
    assert [one["error_code"] for one in sink.data] == [CLUSTER_AUTHORIZATION_FAILED]
