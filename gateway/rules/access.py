"""Access: which topics may be created, and which resources may be named at all."""

from __future__ import annotations

from gateway.decision import Denied
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
)
from gateway.names import InvalidName
from gateway.views.view import View

TOPIC_RESOURCE = 2
_BROKER_RESOURCES = {4: "brokers", 8: "broker loggers"}


def check_creation(view: View, spelled: str) -> Denied | None:
    """Why a topic may not be created under this spelling, INVALID_TOPIC_EXCEPTION; None: it may.

    What may not be named may not be created; nor may a default-namespace name that Kafka's
    folding of ``.`` and ``_`` would take for a namespace's.
    """
    found = view.resolve(spelled.encode())
    if isinstance(found, Denied):
        # What is not known now may be right in a while: that error is one to try again after.
        code = found.code if view.closed else INVALID_TOPIC_EXCEPTION
        return Denied(code, found.message, found.rule)
    try:
        captor = view.snapshot.captured_by(view.parse(spelled))
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, str(error), "names")
    if captor is None:
        return None
    return Denied(
        INVALID_TOPIC_EXCEPTION,
        f"Topic '{spelled}' would collide with names of namespace '{captor}', "
        "since Kafka does not tell '.' from '_'.",
        "collision",
    )


def check_resource(resource_type: int, name: str) -> Denied | None:
    """Why the configs of a resource may not be seen or changed here; None for topics.

    A broker's configs hold its addresses, and are every tenant's business or none's.
    """
    if resource_type == TOPIC_RESOURCE:
        return None
    what = _BROKER_RESOURCES.get(resource_type)
    if what is not None:
        return Denied(
            CLUSTER_AUTHORIZATION_FAILED,
            f"Configs of {what} ('{name}') are not reachable through this gateway.",
            "access",
        )
    return Denied(
        INVALID_REQUEST,
        f"Configs of resource type {resource_type} ('{name}') are not served by this gateway.",
        "access",
    )
