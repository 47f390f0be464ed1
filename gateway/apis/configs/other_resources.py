"""Configs of resources that are not topics: who may describe or alter them, and under which names.

==================  ==============================================================================
resource            decision
==================  ==============================================================================
broker, logger      describing needs DESCRIBE_CONFIGS on the cluster, else
                    CLUSTER_AUTHORIZATION_FAILED, as in Kafka. The broker of the connection answers,
                    and rejects the id of any other broker. Altering is denied: a broker's configs
                    concern all tenants.
group               DESCRIBE_CONFIGS or ALTER_CONFIGS on the group, else GROUP_AUTHORIZATION_FAILED.
                    Only the configs of ``shown_values.GROUP_CONFIGS`` can be altered.
client metrics      requests for them alone are the gateway's own (``configs``); beside other
                    resources they are denied.
any other           denied.
==================  ==============================================================================

In a tree a client names a broker by its virtual node id; the broker gets its own id. A gateway's
own node has no configs: it is described as a broker without any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.apis.configs.shown_values import GROUP_CONFIGS, shown_configs, shown_levels
from gateway.decision import Denied
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.mounts import MAX_MOUNTED_NODE_ID
from gateway.node_ids import MOUNTED_BITS, virtual_node_id
from gateway.rules.access import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    check_resource,
)
from gateway.rules.item_lists import ConfigResource
from gateway.rules.node_numbers import NOBODY
from gateway.rules.volume_items import GROUP_RESOURCE
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import changed
from protocol.pausing import paced

DESCRIBE: Final = "DescribeConfigs"

OF_BROKERS: Final = b"brokers"
"""The key in ``Exchange.spelled_ids`` of a request that needs the right to brokers' configs, so
that the check of a request in flight notices if the right is revoked. It is neither a topic id nor
a group."""

MOST_BROKERS: Final = 10
"""Brokers and loggers in one request. A broker answers for itself alone, with 100 KB each time."""

_BROKERS: Final = frozenset({BROKER_RESOURCE, BROKER_LOGGER_RESOURCE})
_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)
_ALTER_CONFIGS: Final = int(Operation.ALTER_CONFIGS)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_INT32: Final = range(-(2**31), 2**31)
_UNEXPECTED: Final = re.compile(
    r"(Unexpected broker id, expected )(\d+)( or empty string,)?( but received ).*", re.DOTALL
)

NO_CONFIGS: Final = Denied(0, "", "access")
"""The answer for a gateway's own node: no error and no configs. It is no denial."""

BESIDE_NAMESPACES: Final = Denied(
    INVALID_REQUEST,
    "Configs of brokers and groups cannot be in one request with those of namespaces, or of topics "
    "that the gateway describes or alters itself; send a request for each.",
    "request",
)
_TOO_MANY: Final = Denied(
    INVALID_REQUEST,
    f"A request names at most {MOST_BROKERS} brokers; send each broker a request for itself.",
    "request",
)
_NO_GROUP: Final = {
    True: Denied(INVALID_REQUEST, "Group name must not be empty", "names"),
    False: Denied(INVALID_REQUEST, "Default group resources are not allowed.", "names"),
}
"""By whether the request describes: a broker's own responses to an empty group name (ConfigHelper,
ConfigurationControlManager)."""


@dataclass(slots=True)
class Decided:
    """The resources of one request that are not topics. ``denied`` has those that are not
    forwarded, ``names`` the broker's name of each other one, ``aliases`` those of which the request
    has another spelling first."""

    denied: dict[ConfigResource, Denied] = field(default_factory=dict)
    names: dict[ConfigResource, bytes] = field(default_factory=dict)
    aliases: dict[ConfigResource, ConfigResource] = field(default_factory=dict)
    needs_brokers: bool = False


@dataclass(frozen=True, slots=True)
class Forwarded(Kept):
    """The forwarded resources that are not topics: type and the broker's name -> client's name."""

    spelled: Mapping[ConfigResource, bytes]


def decide(state: ConnectionState, api: str, resources: tuple[Any, ...]) -> Decided:
    """Decide the resources of a request that are not topics."""
    decided = Decided()
    brokers = sum(one.resource_type in _BROKERS for one in paced(resources))
    for resource in paced(resources):
        kind, name = int(resource.resource_type), resource.resource_name.encode()
        if kind == TOPIC_RESOURCE or (kind, name) in decided.denied:
            continue
        if kind in _BROKERS and api == DESCRIBE:
            found = _broker(state, kind, name, many=brokers > MOST_BROKERS)
            decided.needs_brokers |= not isinstance(found, Denied)
        elif kind == GROUP_RESOURCE:
            found = _group(state, name, resource, describes=api == DESCRIBE)
        else:
            found = check_resource(kind, resource.resource_name) or name
        if isinstance(found, Denied):
            decided.denied[kind, name] = found
            decided.names.pop((kind, name), None)
        else:
            decided.names[kind, name] = found
    firsts: dict[ConfigResource, ConfigResource] = {}
    for key, found in paced(decided.names.items()):
        first = firsts.setdefault((key[0], found), key)
        if first != key:
            decided.aliases[key] = first
    return decided


def of_node(request: Any) -> bool:
    """Whether a request names a broker, so that only the broker's own node can answer it. An empty
    name stands for the defaults of all brokers, which each broker knows."""
    return any(
        one.resource_type in _BROKERS and one.resource_name for one in paced(request.resources)
    )


def _broker(state: ConnectionState, kind: int, name: bytes, *, many: bool) -> bytes | Denied:
    """A broker's name as the broker knows it, if the client may describe brokers."""
    if state.view.closed:
        stale = state.view.resolve(name)  # which denies every name then
        assert isinstance(stale, Denied)
        return stale
    denied = state.access.cluster(_DESCRIBE_CONFIGS)
    if denied is not None:
        return denied
    if many:
        return _TOO_MANY
    text = name.decode()
    if state.on_gateway_node and name:
        return _at_gateway_node(state, text)
    number = state.worker.number
    if not number or not name:
        return name
    node_id = _node_id(text)
    if node_id is None:
        # Java also reads digits of other scripts, and so it would read a broker's real id.
        return Denied(INVALID_REQUEST, f"Broker id must be an integer, but it is: {text}", "names")
    if node_id >= 0:
        own = node_id >> MOUNTED_BITS == number
        # Without the number of this cluster it must not be any broker's id here.
        node_id = node_id & MAX_MOUNTED_NODE_ID if own else node_id | NOBODY
    return str(node_id).encode()


def _at_gateway_node(state: ConnectionState, name: str) -> Denied:
    """The answer of a node that stands for a gateway. Gateways list each other's nodes at their own
    addresses, so it answers for each gateway's node."""
    worker = state.worker
    listed = worker.listed_gateways(worker.catalog.snapshot, state.source.listener)
    if _node_id(name) in {gateway.node_id for gateway in listed}:
        return NO_CONFIGS
    why = f"Unexpected broker id: this node stands for a gateway, but received {name}"
    return Denied(INVALID_REQUEST, why, "names")


def _node_id(name: str) -> int | None:
    """A node id as Java's Integer.parseInt reads ASCII digits; None for anything else."""
    if _INTEGER.fullmatch(name) is None:
        return None
    node_id = int(name)
    return node_id if node_id in _INT32 else None


def _group(
    state: ConnectionState, name: bytes, resource: Any, *, describes: bool
) -> bytes | Denied:
    """A group's id as the broker knows it, if the client may describe or alter its configs."""
    found = state.access.group(_DESCRIBE_CONFIGS if describes else _ALTER_CONFIGS, name)
    if isinstance(found, Denied):
        return found
    if not name:
        return _NO_GROUP[describes]
    if not describes:
        for config in paced(resource.configs):
            if config.name not in GROUP_CONFIGS:
                why = f"Unknown group config name: {config.name}"
                return Denied(INVALID_CONFIG, why, "names")
    return found


# -- responses -------------------------------------------------------------------------------------


def restored(state: ConnectionState, api: str, version: int, body: bytes, kept: Forwarded) -> bytes:
    """A response in which brokers and groups have the client's names, and configs only what clients
    may see of them. Results of topics stay. Raises ProtocolError."""
    response = messages.parse(f"{api}Response", version, body)
    array = "results" if api == DESCRIBE else "responses"
    results = tuple(_result(state, kept, one) for one in paced(getattr(response, array)))
    return messages.write(replace(response, **{array: results}))


def _result(state: ConnectionState, kept: Forwarded, result: Any) -> Any:
    kind = int(result.resource_type)
    if kind == TOPIC_RESOURCE:
        return result
    spelled = kept.spelled.get((kind, result.resource_name.encode()))
    if spelled is None:
        raise ProtocolError("the broker answers for a resource that was not requested")
    name, number = spelled.decode(), state.worker.number
    values: dict[str, object] = {"resource_name": name}
    if kind in _BROKERS and number and result.error_message:
        values["error_message"] = _numbered_text(result.error_message, name, number)
    if getattr(result, "configs", ()):
        levels = kind == BROKER_LOGGER_RESOURCE
        configs = result.configs
        values["configs"] = tuple(
            shown_levels(configs) if levels else shown_configs(configs, number)
        )
    return changed(result, values)


def _numbered_text(text: str, name: str, number: int) -> str:
    """A broker's rejection of a wrong id, with the virtual ids in place of the brokers' own."""
    found = _UNEXPECTED.fullmatch(text)
    if found is None:
        return text
    own = virtual_node_id(number, int(found[2]))
    return f"{found[1]}{own}{found[3] or ''}{found[4]}{name}"
