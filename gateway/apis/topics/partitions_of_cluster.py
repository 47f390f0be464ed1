"""The requests by which administrators change partitions: needs ALTER on the cluster, and no home.

Topic names are rewritten. A topic is named by its own name, because a link gives no right to change
the topic; each partition of a topic that cannot be named here gets an error.
"""

from __future__ import annotations

from gateway.apis import administrators, generic, walking
from gateway.apis.counting import TOPIC_NAME, count_topics
from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange, Outcome, Plan
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import ALTER
from gateway.rules.rename import Rejections
from gateway.views.access import own_name
from protocol import messages
from protocol.errors import ProtocolError
from protocol.pausing import eased, paced


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the topics that can be named here, under their flat names."""
    plan = exchange.plan
    spans = walking.request_spans(plan, buf, start, end)
    check_count(plan, buf[start:end])
    denied = administrators.denial(state, ALTER)
    if denied is not None:
        return administrators.reject(state, exchange, buf[start:end], denied)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    rejections = renamer.rejections or Rejections()
    for kind, _, _, name in eased(spans):
        if kind == TOPIC_NAME and name and name not in rejections.topics:
            found = own_name(name, state.view.resolve(name))
            if isinstance(found, Denied):
                rejections.topics[name] = found
    count_topics(state, exchange)
    if rejections.topics or rejections.aliases:
        return generic.reject(state, exchange, buf[start:end], rejections)
    return renamer.edits


def check_count(plan: Plan, body: bytes) -> None:
    """Raise ProtocolError if a request has more than MAX_SPANS partitions, each of which has an
    element of its own in the response. A partition has four bytes and more."""
    shape = plan.api.topic_shape(plan.version)
    if shape is None or len(body) < 4 * walking.MAX_SPANS:
        return
    assert shape.request.partitions is not None
    count = 0
    asked = messages.parse(f"{plan.name}Request", plan.version, body)
    for topic in paced(getattr(asked, shape.request.array) or ()):
        count += len(getattr(topic, shape.request.partitions))
    if count > walking.MAX_SPANS:
        raise ProtocolError(f"{plan.name} names more than {walking.MAX_SPANS} partitions")
