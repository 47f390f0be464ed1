"""What an entity of a file must keep to by itself, whatever the catalog and the cluster hold.

Each function raises InvalidName. What depends on other entities, or on the checks of requests, is
judged by ``gateway.commands.catalog.as_requested``.
"""

from __future__ import annotations

from gateway.catalog.entities import (
    ClientMetrics,
    Link,
    Namespace,
    PrincipalHome,
    ScramCredential,
    Seeds,
    TopicEntry,
)
from gateway.catalog.schema.scram_bounds import wrong_credential
from gateway.client_metrics_configs import WrongConfig
from gateway.client_metrics_configs import check as check_configs
from gateway.names import (
    DELIMITER,
    MAX_FLAT_LENGTH,
    InvalidName,
    LogicalName,
    check_namespace,
    check_room,
    check_topic,
    encode,
    is_reserved,
)


def check_home(home: PrincipalHome) -> None:
    """The namespace is well formed."""
    check_namespace(home.namespace)


def check_path(namespace: Namespace) -> None:
    """The namespace is well formed, and leaves room for a topic."""
    check_namespace(namespace.path)
    check_room(namespace.path)


def check_seeds(seeds: Seeds) -> None:
    """Every namespace is well formed, and leaves room for a topic."""
    for path in seeds.namespaces:
        check_namespace(path)
        check_room(path)


def check_entry(entry: TopicEntry) -> None:
    """The topic can have these names, and be stored by its flat name."""
    for name in entry.names:
        encode(name)
    _check_flat(entry.flat)


def check_link(link: Link) -> None:
    """The link can have its name, and its topic can be stored by its flat name."""
    encode(link.name)
    _check_flat(link.flat)
    if link.gone:
        namespace, _, topic = link.gone.rpartition(DELIMITER)
        encode(LogicalName(namespace, topic))


def _check_flat(flat: str) -> None:
    check_topic(flat)
    if len(flat) > MAX_FLAT_LENGTH or is_reserved(flat):
        raise InvalidName(f"'{flat}' is no name that a topic can be stored by")


def check_credential(credential: ScramCredential) -> None:
    """An upsertion could have made the credential."""
    wrong = wrong_credential(credential)
    if wrong:
        raise InvalidName(f"is no credential: {wrong.removesuffix('.')}")


def check_client_metrics(one: ClientMetrics) -> None:
    """A client could have set these configs."""
    if one.namespace:
        check_namespace(one.namespace)
    elif one.name.startswith(DELIMITER):
        raise InvalidName(f"'{one.name}' has an empty namespace")
    if not one.configs:
        raise InvalidName("a subscription without configs is none")
    try:
        check_configs(one.name.rpartition(DELIMITER)[2], one.configs)
    except WrongConfig as error:
        raise InvalidName(error.message.rstrip(".")) from None
