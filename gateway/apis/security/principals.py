"""The catalog's entities of principals: DescribeAcls, CreateAcls and DeleteAcls (APIs 29 to 31,
KIP-140), DescribeUserScramCredentials and AlterUserScramCredentials (50 and 51, KIP-554),
DescribeClientQuotas (48, KIP-546).

The gateway answers these APIs itself, by ``gateway.changes``, which checks the principal's rights
and translates names. The gateway has no quotas, but tools that show users also request quotas: the
list is empty, for principals with DESCRIBE_CONFIGS on the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.apis.own_changes import Change, answered_by
from gateway.apis.security.acl_requests import create_acls, delete_acls, describe_acls
from gateway.apis.security.copied_acls import (
    copies_acls,
    creating_none_of_namespaces,
    describing_none_of_namespaces,
)
from gateway.apis.security.scram_credentials import (
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from gateway.apis.security.scram_messages import alteration_response, users_of
from gateway.changes.acls.acl_rights import CLUSTER
from gateway.changes.base.context import Answered, RequestChange
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, UNSUPPORTED_VERSION
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Do, Effect
from gateway.rules.division import Division, Item, Names, Requested
from gateway.rules.far_answers import check_count, check_patterns
from gateway.rules.volume_items import of_filter
from gateway.views.access import Access
from protocol import messages
from protocol.messages import make
from protocol.pausing import paced

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)

_MATCH_TYPES: Final = range(3)
"""EXACT, DEFAULT and SPECIFIED (DescribeClientQuotasRequest)."""

_SHOWN_LENGTH: Final = 200
"""Characters of a client's text that an error repeats."""

_QUOTA_ENTITIES: Final = frozenset({"user", "client-id", "ip"})
"""Kafka's ClientQuotaEntity.isValidEntityType."""

_OF_LISTENER: Final = Division()
"""Users belong to the listener's volume."""


async def _no_quotas(access: Access, version: int, body: bytes) -> Answered:
    cls = messages.message_class("DescribeClientQuotasResponse", version)
    denied = access.cluster(_DESCRIBE_CONFIGS)
    denied = denied or _unknown_quota(messages.parse("DescribeClientQuotasRequest", version, body))
    if denied is None:
        return Answered(messages.write(make(cls, {"entries": ()})))
    values = {"error_code": denied.code, "error_message": denied.message, "entries": None}
    return Answered(messages.write(make(cls, values)), [(CLUSTER, denied)])


def _unknown_quota(request: Any) -> Denied | None:
    """The error for a filter that Kafka rejects, too (ClientQuotasImage.describe)."""
    for component in paced(request.components):
        if component.match_type not in _MATCH_TYPES:
            message = f"Unknown match type {component.match_type}"
            return Denied(INVALID_REQUEST, message, "request")
    for component in paced(request.components):
        if component.entity_type not in _QUOTA_ENTITIES:
            # Kafka's text, cut: a response's string is no longer than a request's.
            message = f"Unsupported entity type {component.entity_type[:_SHOWN_LENGTH]}"
            return Denied(UNSUPPORTED_VERSION, message, "request")
    return None


def _api(
    name: str,
    span: tuple[int, int],
    change: RequestChange,
    null: Do = Do.ABSENT,
    copied: Callable[[Change], Change] | None = None,
    *,
    division: Division,
    effect: Effect = Effect.CHANGE,
) -> Api:
    """``copied`` wraps the change for MirrorMaker's admin clients, which copy ACLs."""
    request = answered_by(lambda changes: partial(changes.carry_out, change))
    if copied is not None:
        copying = answered_by(lambda changes: copied(partial(changes.carry_out, change)))
        request = _or_copying(request, copying)
    return Api(
        name,
        span,
        Do.ANSWER,
        null=null,
        effect=effect,
        division=division,
        request=request,
    )


def _or_copying(plain: RequestHandler, copying: RequestHandler) -> RequestHandler:
    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        handler = copying if copies_acls(state.client_id) else plain
        return handler(state, exchange, buf, start, end)

    return request


# -- in a tree -------------------------------------------------------------------------------------


def _created(entry: Any, names: Names) -> Item:
    kind, pattern_type = int(entry.resource_type), int(entry.resource_pattern_type)
    return Item(names.acl_pattern(kind, pattern_type, entry.resource_name), None)


def _deleted(entry: Any, names: Names) -> Item:
    return Item(of_filter(entry, names), None)


def _check_described(request: Any, response: Any, wanted: Requested) -> None:
    check_patterns(response.resources, wanted)


def _check_deleted(request: Any, response: Any, wanted: Requested) -> None:
    check_count(request.filters, response.filter_results)
    for result in paced(response.filter_results):
        check_patterns(result.matching_acls, wanted)


def _no_user_altered(version: int, part_body: bytes, code: int, message: str) -> bytes:
    """The response in which each user of the request has the error, once, as in
    AlterUserScramCredentialsRequest (getErrorResponse)."""
    request = messages.parse("AlterUserScramCredentialsRequest", version, part_body)
    why = Denied(code, message, "error_response")
    return alteration_response(version, dict.fromkeys(users_of(request), why))


DESCRIBE_ACLS = _api(
    "DescribeAcls",
    (1, 3),
    describe_acls,
    Do.ANSWER,
    describing_none_of_namespaces,
    effect=Effect.DESCRIPTION,
    division=Division(whole=of_filter, believed=_check_described),
)
CREATE_ACLS = _api(
    "CreateAcls",
    (1, 3),
    create_acls,
    copied=creating_none_of_namespaces,
    division=Division(item=_created, positions=("creations", "results")),
)
DELETE_ACLS = _api(
    "DeleteAcls",
    (1, 3),
    delete_acls,
    Do.ANSWER,
    division=Division(
        item=_deleted, positions=("filters", "filter_results"), believed=_check_deleted
    ),
)
DESCRIBE_USER_SCRAM_CREDENTIALS = _api(
    "DescribeUserScramCredentials",
    (0, 0),
    describe_user_scram_credentials,
    Do.ANSWER,
    effect=Effect.DESCRIPTION,
    division=_OF_LISTENER,
)
ALTER_USER_SCRAM_CREDENTIALS = _api(
    "AlterUserScramCredentials",
    (0, 0),
    alter_user_scram_credentials,
    division=Division(failed=_no_user_altered),
)
DESCRIBE_CLIENT_QUOTAS = Api(
    "DescribeClientQuotas",
    (0, 1),
    Do.ABSENT,
    null=Do.ANSWER,
    why="there are none",
    request=answered_by(lambda _: _no_quotas),
)
