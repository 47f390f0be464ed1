"""The denial of requests about the whole cluster, which are for its administrators.

An administrator has an operation on the cluster, as in KafkaApis and ControllerApis, where no home
is in force: what such a request changes, or tells, is no namespace's own.
"""

from __future__ import annotations

from typing import Final

from gateway.apis import generic
from gateway.apis.counting import report_rejections
from gateway.decision import Denied, Resolved
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, LEADER_NOT_AVAILABLE
from gateway.exchanges.exchange import Answer, Exchange
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import DESCRIBE
from gateway.rules.error_text import TextFacts, cut, restored
from gateway.rules.rename import Rejections
from gateway.views.access import Access

_CLUSTER: Final = b"kafka-cluster"

STALE: Final = Denied(
    LEADER_NOT_AVAILABLE,
    "The gateway could not read its catalog for too long, so a right may have been revoked; "
    "try again.",
    "stale",
)
"""The denial while the catalog is out of date. Java's admin client retries after this code."""

_UNDER_HOME: Final = Denied(
    CLUSTER_AUTHORIZATION_FAILED,
    "This request concerns the whole cluster; it is not served where a home namespace is in force.",
    "access",
)


def denial(state: ConnectionState, *operations: int) -> Denied | None:
    """The denial of a request for administrators; None for a principal that has one of the
    ``operations`` on the cluster, where no home is in force."""
    under_home = home_denial(state)
    if under_home is not None:
        return under_home
    if state.view.closed:
        return STALE
    denials = [state.access.cluster(operation) for operation in operations]
    return None if None in denials else denials[0]


def home_denial(state: ConnectionState) -> Denied | None:
    """The denial of a request about the whole cluster under a home; None without a home. A home in
    another volume of the tree counts, too."""
    settings = state.view.settings
    return _UNDER_HOME if settings.home or settings.home_elsewhere else None


def cluster_or_home(access: Access, operation: int) -> Denied | None:
    """The denial of a request that shows a view's own topics. ``operation`` on the cluster, as in
    Kafka, shows every topic of the view; on the home it shows topics that the client may
    describe."""
    denied = access.cluster(operation)
    home = access.view.settings.home
    return None if home and access.namespace(operation, home) is None else denied


def named_topic(access: Access, spelled: bytes) -> Resolved | Denied:
    """The topic of a name in a request that :func:`cluster_or_home` permits to describe topics; a
    frozen topic is described, too. A client without DESCRIBE on the cluster needs it on the
    topic."""
    shows_all = access.cluster(DESCRIBE) is None
    return access.view.subscribed(spelled) if shows_all else access.subscribed(spelled)


def listed_topic(access: Access, flat: bytes) -> bytes | None:
    """The name of a broker's topic in the response to a request for all topics that
    :func:`cluster_or_home` permits; None: the topic is not shown."""
    return access.view.listed(flat) if access.cluster(DESCRIBE) is None else access.listed(flat)


def reject(state: ConnectionState, exchange: Exchange, body: bytes, denied: Denied) -> Answer:
    """Reject the whole request, and report its denial."""
    report_rejections(state, exchange, Rejections(ids={_CLUSTER: denied}))
    return generic.answer_error(exchange, body, denied)


def shown_text(state: ConnectionState, text: str | None) -> str | None:
    """A broker's error text without the names and addresses that the client may not see."""
    if not text:
        return text
    facts = TextFacts(state.access.shown, state.view)
    return cut(restored(text.encode(), facts)).decode()
