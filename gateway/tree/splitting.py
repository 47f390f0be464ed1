"""Requests that a gateway with several clusters divides by volume (hierarchical topics).

Requests about one node stay on that node's connection: records, groups, transactions. All requests
here get the same response on every node, without that node's broker: each part of a request is
decided in its own volume, and the responses are merged. A request that names a broker is for the
node that it is sent to, and is not divided. Without a tree nothing is divided.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from gateway.apis import administrators, walking
from gateway.decision import Denied
from gateway.exchanges.api import Api, Around, TreeHandler
from gateway.exchanges.exchange import Exchange, Outcome, Plan, RequestHandler, Work
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.tree import Tree, VolumeUnreachable
from gateway.rules.declaration import Declaration
from gateway.rules.division import Division, Parts
from gateway.tree import numbering, volume_down, volume_parts
from protocol import messages


def request_of(api: Api, version: int, handler: RequestHandler) -> RequestHandler:
    """The handler of an API's requests in a tree, around the handler of one cluster's requests."""
    handler = numbering.request_of(api, version, handler)
    decide = api.in_tree if api.division is None else _divide
    return handler if decide is None else partial(_in_tree, decide, handler)


def _in_tree(
    decide: TreeHandler,
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
    walking.request_spans(exchange.plan, buf, start, end)
    denied = _denied_by_home(state, exchange.plan.api.division, tree)
    if denied is not None:
        return administrators.reject(state, exchange, buf[start:end], denied)
    found = decide(tree, state.worker.mount, exchange.plan, buf[start:end])
    return handler(state, exchange, buf, start, end) if found is None else found


def _denied_by_home(state: ConnectionState, division: Division | None, tree: Tree) -> Denied | None:
    """The denial of a request that is rejected under the client's home, wherever it would go."""
    if division is None:
        return None
    far = division.not_under_far_home and tree.own not in tree.reach()
    return administrators.home_denial(state) if division.not_under_home or far else None


def _divide(tree: Tree, mount: str, plan: Plan, body: bytes) -> Outcome | None:
    """Answer every part of the request in its own volume; None for a request that only the node of
    the connection can answer."""
    api, version = plan.api, plan.version
    of_node = None if api.division is None else api.division.of_node
    if of_node is not None and of_node(messages.parse(f"{api.name}Request", version, body)):
        return None
    parts = volume_parts.divide(api, version, body, tree)
    return Work(partial(_answer, api, tree, version, body, parts))


async def _answer(
    api: Declaration, tree: Tree, version: int, body: bytes, parts: Parts | None
) -> bytes:
    """The merged response of all volumes that a request names, as every node responds."""
    if parts is None:
        answer = await _answer_part(api, tree, version, tree.own, body)
    else:
        bodies = parts.bodies
        alone = len(bodies) == 1
        answers = await tree.at_once(
            (
                _answer_part(api, tree, version, path, part, alone=alone)
                for path, part in bodies.items()
            )
        )
        answer = volume_parts.merge(api, parts, dict(zip(bodies, answers, strict=True)))
    return answer if api.brokers is None else api.brokers.replaced(version, answer, *tree.facts())


async def _answer_part(
    api: Declaration, tree: Tree, version: int, path: str, body: bytes, *, alone: bool = True
) -> bytes:
    try:
        answer = await tree.ask(path, api.key, version, body, alone=alone)
        if api.brokers is not None and api.brokers.node_ids is not None:
            await tree.meet(path, api.brokers.node_ids(version, answer))
        return answer
    except volume_down.NotReferred as error:
        return volume_down.when_not_referred(api, version, body, error.outcome, str(error))
    except VolumeUnreachable as error:
        if api.division is not None and api.division.when_down is not None:
            return api.division.when_down(version, body, partial(tree.remembered, path))
        return volume_down.failed(api, version, body, volume_down.code_when_down(api), str(error))


AROUND: Final = Around(0, request_of, numbering.response_of)
