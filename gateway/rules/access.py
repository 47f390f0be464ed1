"""Access: which topics may be created, and which resources may be named at all."""

from __future__ import annotations

from gateway.decision import Denied
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
)
from gateway.names import (
    DELIMITER,
    END_OF_NAMESPACE,
    SLASH,
    InvalidName,
    LogicalName,
    decode,
)
from gateway.views.view import View

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
_FROM_ROOT = (DELIMITER, SLASH)
_BROKER_RESOURCES = {BROKER_RESOURCE: "brokers", BROKER_LOGGER_RESOURCE: "broker loggers"}
CLIENT_METRICS_RESOURCE = 16


def check_creation(view: View, spelled: str) -> Denied | None:
    """The denial (INVALID_TOPIC_EXCEPTION) of creating a topic under this spelling; None if the
    topic may be created.

    The gateway rejects a name that may not be requested, a default-namespace name that Kafka's
    folding of ``.`` and ``_`` maps to a name of a namespace, and, unless the cluster has such
    names, a name that reads as a topic in a namespace that does not exist. In a tree the gateway
    also rejects a name that begins with ``..``.
    """
    found = view.resolve(spelled.encode())
    if isinstance(found, Denied):
        # A closed view may open in a while, so the client gets the view's retriable error.
        code = found.code if view.closed else INVALID_TOPIC_EXCEPTION
        return Denied(code, found.message, found.rule)
    try:
        name = view.parse(spelled)
    except InvalidName as error:
        return Denied(INVALID_TOPIC_EXCEPTION, str(error), "names")
    if view.snapshot.captured_by(name) is not None:
        return collision(spelled)
    if view.settings.mounts is not None and name.topic.startswith(END_OF_NAMESPACE):
        return Denied(
            INVALID_TOPIC_EXCEPTION,
            f"Topic '{spelled}' would begin '{END_OF_NAMESPACE}', as names from the tree's root do;"
            " choose another name.",
            "names",
        )
    if view.settings.namespace_like:
        return None
    return _namespace_like(view, spelled, name)


def collision(spelled: str) -> Denied:
    """The denial of a default-namespace name that folds into a name of a namespace. The message
    does not name that namespace, because the client may not be allowed to know that it exists."""
    return Denied(
        INVALID_TOPIC_EXCEPTION,
        f"Topic '{spelled}' would collide with names of a namespace, since Kafka does not tell '.' "
        "from '_'; choose another name.",
        "collision",
    )


def _namespace_like(view: View, spelled: str, name: LogicalName) -> Denied | None:
    """The denial of a name that reads as a topic in a namespace that does not exist. A name with a
    leading colon is explicitly outside of namespaces, so it is never denied here."""
    if name.namespace or spelled.startswith(_FROM_ROOT):
        return None
    meant = decode(name.topic)
    if not meant.namespace or view.snapshot.entry_of(name) is not None:
        return None
    from_root = DELIMITER if view.settings.home else ""
    return Denied(
        INVALID_TOPIC_EXCEPTION,
        f"InvalidNamespaceException: '{spelled}' reads as topic '{meant.topic}' of namespace "
        f"'{meant.namespace}', which does not exist. Create the namespace first: kafka-topics "
        f"--create --topic {from_root}{meant.namespace}{DELIMITER} (with your --bootstrap-server). "
        f"If a topic outside of namespaces is meant, its name here is '{DELIMITER}{name.topic}'.",
        "namespace",
    )


def check_resource(resource_type: int, name: str) -> Denied | None:
    """The denial of a change of the configs of a resource; None for topics.

    A broker's configs concern all tenants. Client metrics are the gateway's own, so they have
    requests of their own.
    """
    if resource_type == TOPIC_RESOURCE:
        return None
    what = _BROKER_RESOURCES.get(resource_type)
    if what is not None:
        return Denied(
            CLUSTER_AUTHORIZATION_FAILED,
            f"Configs of {what} ('{name}') cannot be altered through this gateway, because they"
            " concern all its clients; alter them at the brokers.",
            "access",
        )
    if resource_type == CLIENT_METRICS_RESOURCE:
        return Denied(
            INVALID_REQUEST,
            f"Client metrics ('{name}') cannot be in one request with other resources; send a"
            " request for them alone.",
            "request",
        )
    return Denied(
        INVALID_REQUEST,
        f"Configs of resources of type {resource_type} ('{name}') are not served by this gateway.",
        "access",
    )
