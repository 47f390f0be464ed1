"""Requests that a gateway with several clusters divides by volume (hierarchical topics).

What concerns one node stays on that node's connection: records, groups, transactions. Everything
here is answered on every node alike, without that node's broker: each part of a request is decided
in its own volume, and the answers are merged. Where there is no tree this does nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from gateway.apis import generic
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Outcome, Plan, RequestHandler, Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import NotReferred, Tree, TreeFacts, VolumeUnreachable
from gateway.rules import tree_brokers, volume_down, volume_parts
from gateway.rules.declaration import Declaration
from gateway.rules.volume_down import Remembered
from gateway.rules.volume_items import Parts
from protocol import messages
from protocol.schema import api_key_of

Finish = Callable[[int, bytes, TreeFacts], bytes]
"""(version, body, the tree's brokers) -> the body as every node answers it."""


def _metadata(version: int, body: bytes, facts: TreeFacts) -> bytes:
    return tree_brokers.in_metadata(version, body, *facts)


def _cluster(version: int, body: bytes, facts: TreeFacts) -> bytes:
    return tree_brokers.in_description(version, body, *facts)


_FINISH: Final[Mapping[str, Finish]] = {"Metadata": _metadata, "DescribeCluster": _cluster}

_WHEN_DOWN: Final[Mapping[str, Callable[[int, bytes, Mapping[str, Remembered]], bytes]]] = {
    "Metadata": volume_down.metadata_when_down,
    "DescribeTopicPartitions": volume_down.description_when_down,
}

OF_LISTENER: Final = frozenset(
    {"DescribeCluster", "DescribeUserScramCredentials", "AlterUserScramCredentials"}
)
"""APIs that name nothing which a volume owns: they are of the listener's."""

SPLIT: Final = OF_LISTENER | {
    "Metadata",
    "DescribeTopicPartitions",
    "FindCoordinator",
    "CreateTopics",
    "DeleteTopics",
    "CreatePartitions",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
}


SPLIT_KEYS: Final = frozenset(api_key_of(f"{name}Request") for name in SPLIT)


def splitting(api: Api, handler: RequestHandler) -> RequestHandler:
    """The request handler of an API in a gateway that may have a tree: the ``handler`` itself where
    nothing is divided."""
    decide = _IN_TREE.get(api.name)
    return handler if decide is None else partial(_in_tree, decide, handler)


def _in_tree(
    decide: Decide,
    handler: RequestHandler,
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
) -> Outcome:
    tree = state.tree
    if tree is None:
        return handler(state, exchange, buf, start, end)
    generic.request_spans(exchange.plan, buf, start, end)
    found = decide(tree, state.worker.mount, exchange.plan, buf[start:end])
    return handler(state, exchange, buf, start, end) if found is None else found


def _divide(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome:
    """Every part of the request is answered in its own volume."""
    api, version = plan.api, plan.version
    parts = None if api.name in OF_LISTENER else volume_parts.divide(api, version, body, tree)
    return Work(partial(_answer, api, tree, version, body, parts))


def _list_groups(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """Admin clients ask every broker for its groups; a listing is that of the listener's volume."""
    if mount == tree.own:
        return None
    return Answer(messages.made("ListGroupsResponse", plan.version, {}))


def _init_producer_id(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """Without a transactional id any cluster can give the id; with one, its coordinator does."""
    requested = messages.parse("InitProducerIdRequest", plan.version, body)
    if requested.transactional_id is not None:
        return None
    return Work(partial(_producer_id, tree, plan.api, plan.version, mount, body))


Decide = Callable[[Tree, str, Plan, bytes], Outcome | None]
"""(tree, mount path of the node's volume, plan, request body) -> how the request is answered in a
tree; None: as one without a tree, by the node's broker."""

_IN_TREE: Final[Mapping[str, Decide]] = {
    **dict.fromkeys(SPLIT, _divide),
    "InitProducerId": _init_producer_id,
    "ListGroups": _list_groups,
}


async def _answer(
    api: Declaration, tree: Tree, version: int, body: bytes, parts: Parts | None
) -> bytes:
    """The answer of every volume that a request names, as one."""
    if parts is None:
        answer = await _answer_part(api, tree, version, tree.own, body)
    else:
        bodies = parts.bodies
        alone = len(bodies) == 1
        answers = await asyncio.gather(
            *(
                _answer_part(api, tree, version, path, part, alone=alone)
                for path, part in bodies.items()
            )
        )
        answer = volume_parts.merge(parts, dict(zip(bodies, answers, strict=True)))
    finish = _FINISH.get(api.name)
    return answer if finish is None else finish(version, answer, tree.facts())


async def _answer_part(
    api: Declaration, tree: Tree, version: int, path: str, body: bytes, *, alone: bool = True
) -> bytes:
    try:
        answer = await tree.ask(path, api.key, version, body, alone=alone)
        if api.name == "Metadata":
            await tree.meet(path, tree_brokers.node_ids(version, answer))
        return answer
    except NotReferred as error:
        code = volume_down.code_when_not_referred(api, version, body, error.outcome)
        return volume_down.failed(api, version, body, code, str(error))
    except VolumeUnreachable as error:
        when_down = _WHEN_DOWN.get(api.name)
        if when_down is not None:
            names, ids = volume_down.topics_named(api, version, body)
            return when_down(version, body, tree.remembered(path, names, ids))
        if api.name == volume_down.CLUSTER:
            return volume_down.cluster_when_down(version, body)
        code = volume_down.code_when_down(api)
        return volume_down.failed(api, version, body, code, str(error))


async def _producer_id(tree: Tree, api: Declaration, version: int, path: str, body: bytes) -> bytes:
    """A producer id of the node's cluster, or of the first other one that answers and in which the
    client may write: the number of the cluster in it makes it unique in the tree."""
    failure, denied = "", b""
    paths = dict.fromkeys((path, tree.own, *tree.reach()))
    for each in paths:
        try:
            answer = await tree.ask(each, api.key, version, body, alone=len(paths) == 1)
        except VolumeUnreachable as error:
            failure = failure or str(error)
            continue
        given = messages.parse("InitProducerIdResponse", version, answer)
        if given.error_code != CLUSTER_AUTHORIZATION_FAILED:
            return answer
        denied = denied or answer
    return denied or volume_down.failed(api, version, body, COORDINATOR_NOT_AVAILABLE, failure)
