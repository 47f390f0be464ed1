"""ElectLeaders (API 43, KIP-460): leaders of partitions are elected, of all partitions for null.

For administrators, see ``partitions_of_cluster``. The response to null has the topics that the
client may describe; the others have new leaders, too.
"""

from __future__ import annotations

from typing import Any, Final

from gateway.apis import administrators, generic, walking
from gateway.apis.administrators import STALE
from gateway.apis.counting import count_errors
from gateway.apis.topics import partitions_of_cluster
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, Unanswerable
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules import partial
from gateway.rules.declaration import ALTER, Do, Topics, TopicShape
from gateway.rules.division import Division, Item, Names
from protocol import messages
from protocol.messages import made
from protocol.splice import Edit

_REQUEST: Final = "ElectLeadersRequest"
_RESPONSE: Final = "ElectLeadersResponse"


_ELECTION_TYPES: Final = frozenset({0, 1})
"""PREFERRED and UNCLEAN; since version 1 the type is the first byte of a request."""

_NO_SUCH_TYPE: Final = Denied(
    INVALID_REQUEST, "The election type is neither PREFERRED (0) nor UNCLEAN (1).", "request"
)


class AllPartitions(Kept):
    """The mark of a request for all partitions."""


_ALL: Final = AllPartitions()


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward the topics that can be named here, under their flat names, or null. If the election
    type does not exist, every partition fails, also of topics that cannot be named."""
    plan = exchange.plan
    # An empty body has no type; walking it raises the error.
    if plan.version and start < end and buf[start] not in _ELECTION_TYPES:
        walking.request_spans(plan, buf, start, end)
        partitions_of_cluster.check_count(plan, buf[start:end])
        # A controller answers a request for no topic before it looks at the type.
        names_none = messages.parse(_REQUEST, plan.version, buf[start:end]).topic_partitions == ()
        if not names_none and administrators.denial(state, ALTER) is None:
            exchange.flow = state.flow(plan.api_key, plan.version, b"")
            return generic.answer_error(exchange, buf[start:end], _NO_SUCH_TYPE)
    outcome = partitions_of_cluster.request(state, exchange, buf, start, end)
    asks_all = isinstance(outcome, list) and not exchange.spelled
    if asks_all and _asks_all(exchange.plan.version, buf[start:end]):
        exchange.kept = _ALL
    return outcome


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names. While the catalog is out of date no topic of "all" can be shown, which
    must not read as if there were none."""
    if exchange.kept is _ALL and state.view.closed:
        walking.response_spans(exchange.plan, buf, start, end)
        count_errors(exchange, [STALE.code])
        return _failed_all(exchange.plan.version, STALE.code)
    return generic.response(state, exchange, buf, start, end)


def _asks_all(version: int, body: bytes) -> bool:
    return messages.parse(_REQUEST, version, body).topic_partitions is None


def _failed_all(version: int, code: int) -> bytes:
    """The response to a request for all partitions that failed. Version 0 has no field for the
    error."""
    if version == 0:
        raise Unanswerable(f"{_RESPONSE} of version 0 has no place for error {code}")
    return made(_RESPONSE, version, {"error_code": code})


def _failed(version: int, part_body: bytes, code: int, message: str) -> bytes:
    """The response if the volume of a part cannot be reached: an error of each partition."""
    if _asks_all(version, part_body):
        return _failed_all(version, code)
    why = Denied(code, message, "error_response")
    return partial.reject_all(API, version, part_body, why)


def _of_topic(entry: Any, names: Names) -> Item:
    return Item(names.topic(entry.topic.encode()), entry.topic)


API = Api(
    "ElectLeaders",
    (0, 2),
    Do.REWRITE,
    null=Do.FILTER,
    why="for administrators, not under a home",
    topics=(
        TopicShape(
            Topics("topic_partitions", name="topic", partitions="partitions"),
            Topics(
                "replica_election_results",
                name="topic",
                partitions="partition_result",
                index="partition_id",
            ),
        ),
    ),
    items_too=lambda version, code: True,
    division=Division(
        item=_of_topic,
        drops_error=True,
        items_bear_error=True,
        not_under_home=True,
        failed=_failed,
    ),
    request=request,
    response=response,
)
