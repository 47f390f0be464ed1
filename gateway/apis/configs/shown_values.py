"""The configs of brokers, broker loggers and groups, as clients may see them.

A broker's configs hold its addresses, paths, principals and secrets, which clients must not learn
(docs/decisions/withheld-addresses.md). So a value is shown only if it is a number or a boolean, or
if its config is listed here: those values are words of Kafka's own, or names of classes in Kafka's
own packages. Every other value is null and sensitive, as a broker shows a password. A null value
stays as the broker describes it. Synonyms follow the same rule, each by its own name.

The lists have every text config of Kafka 4.3.1, and the ones of older releases that brokers may
still have (``tests/live/operations/test_broker_configs.py`` compares them with a broker's).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gateway.node_ids import virtual_node_id
from protocol.messages import changed
from protocol.pausing import paced

WORDS: Final = frozenset(
    {
        "cleanup.policy",
        "compression.type",
        "group.consumer.migration.policy",
        "group.coordinator.rebalance.protocols",
        "inter.broker.protocol.version",
        "log.cleanup.policy",
        "log.message.format.version",
        "log.message.timestamp.type",
        "message.timestamp.type",
        "metrics.recording.level",
        "process.roles",
        "sasl.enabled.mechanisms",
        "sasl.mechanism.controller.protocol",
        "sasl.mechanism.inter.broker.protocol",
        "sasl.oauthbearer.assertion.algorithm",
        "security.inter.broker.protocol",
        "share.auto.offset.reset",
        "share.isolation.level",
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.keymanager.algorithm",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.type",
    }
)
"""Configs whose values are words of Kafka or of Java's cryptography. A value with any other
character than these words have (``/``, ``@``, a blank) is withheld all the same."""

CLASSES: Final = frozenset(
    {
        "alter.config.policy.class.name",
        "authorizer.class.name",
        "client.quota.callback.class",
        "create.topic.policy.class.name",
        "group.consumer.assignors",
        "group.share.assignors",
        "kafka.metrics.reporters",
        "metric.reporters",
        "principal.builder.class",
        "remote.log.metadata.manager.class.name",
        "remote.log.storage.manager.class.name",
        "replica.selector.class",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.server.callback.handler.class",
        "ssl.engine.factory.class",
    }
)
"""Configs whose values are classes, or short names of Kafka's own classes (``uniform``). The name
of a class outside of Kafka's packages is withheld."""

HARMLESS: Final = WORDS | CLASSES

WITHHELD: Final = frozenset(
    {
        "advertised.host.name",
        "advertised.listeners",
        "advertised.port",
        "broker.rack",
        "config.providers",
        "control.plane.listener.name",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "cordoned.log.dirs",
        "delegation.token.master.key",
        "delegation.token.secret.key",
        "early.start.listeners",
        "host.name",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "max.connections.per.ip.overrides",
        "metadata.log.dir",
        "password.encoder.cipher.algorithm",
        "password.encoder.keyfactory.algorithm",
        "password.encoder.old.secret",
        "password.encoder.secret",
        "port",
        "remote.log.metadata.manager.class.path",
        "remote.log.metadata.manager.impl.prefix",
        "remote.log.metadata.manager.listener.name",
        "remote.log.storage.manager.class.path",
        "remote.log.storage.manager.impl.prefix",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.principal.to.local.rules",
        "sasl.kerberos.service.name",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "security.providers",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.principal.mapping.rules",
        "ssl.provider",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "super.users",
        "zookeeper.clientCnxnSocket",
        "zookeeper.connect",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.endpoint.identification.algorithm",
        "zookeeper.ssl.keystore.location",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.keystore.type",
        "zookeeper.ssl.protocol",
        "zookeeper.ssl.truststore.location",
        "zookeeper.ssl.truststore.password",
        "zookeeper.ssl.truststore.type",
    }
)
"""Text configs of Kafka whose values are never shown, not even a value that reads as a number."""

OF_LISTENERS: Final = "listener.name."
"""How the configs of one listener of a broker begin (KIP-103). They are left out, because the name
of the listener follows."""

GROUP_CONFIGS: Final = frozenset(
    {
        "consumer.assignment.interval.ms",
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
        "share.assignment.interval.ms",
        "share.auto.offset.reset",
        "share.delivery.count.limit",
        "share.heartbeat.interval.ms",
        "share.isolation.level",
        "share.partition.max.record.locks",
        "share.record.lock.duration.ms",
        "share.renew.acknowledge.enable",
        "share.session.timeout.ms",
        "streams.assignment.interval.ms",
        "streams.heartbeat.interval.ms",
        "streams.initial.rebalance.delay.ms",
        "streams.num.standby.replicas",
        "streams.session.timeout.ms",
    }
)
"""The configs of groups that clients may alter (GroupConfig of Kafka 4.3.1): none of them holds the
name of a topic."""

_NODE_IDS: Final = frozenset({"broker.id", "node.id"})
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BOOLEANS: Final = ("true", "false")
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]*|by_duration:[A-Za-z0-9.]+")
_CLASS: Final = re.compile(
    r"(uniform|range|simple"
    r"|(org\.apache\.kafka|kafka\.(metrics|security|server))(\.[A-Za-z0-9_$]+)+)?"
)
_LEVELS: Final = frozenset({"ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"})
_LOGGER: Final = re.compile(
    r"root|state\.change\.logger|(kafka|org\.apache\.kafka)(\.[A-Za-z0-9_$]+)*"
)
_NODE_ID: Final = re.compile(r"[0-9]{1,9}")
_UNKNOWN_TYPE: Final = 0


def is_shown(name: str, value: str | None) -> bool:
    """Whether clients may see this value of a broker's or a group's config."""
    if value is None:
        return True
    if name in WITHHELD:
        return False
    if name in WORDS:
        pattern = _WORD
    elif name in CLASSES:
        pattern = _CLASS
    else:
        return value in _BOOLEANS or _NUMBER.fullmatch(value) is not None
    return all(pattern.fullmatch(item.strip()) for item in value.split(","))


def shown_configs(configs: tuple[Any, ...], number: int) -> Iterator[Any]:
    """The configs of a broker or a group as clients may see them. In the cluster with this
    ``number`` in the tree (0: there is no tree) a broker's id is the virtual node id."""
    for config in paced(configs):
        name = config.name
        if name.startswith(OF_LISTENERS):
            continue
        values: dict[str, object] = {"value": _numbered(name, config.value, number)}
        if not is_shown(name, config.value):
            values = {"value": None, "is_sensitive": True}
        if config.synonyms:
            values["synonyms"] = tuple(_synonyms(config.synonyms, number))
        # Only configs that Kafka itself defines have a type; their text is Kafka's.
        if getattr(config, "config_type", _UNKNOWN_TYPE) == _UNKNOWN_TYPE:
            values["documentation"] = None
        yield changed(config, values)


def shown_levels(configs: tuple[Any, ...]) -> Iterator[Any]:
    """The levels of Kafka's own loggers (KIP-412). Other loggers are left out, because they name
    the operator's own classes."""
    for config in paced(configs):
        if _LOGGER.fullmatch(config.name) is None:
            continue
        levels = [config.value, *(one.value for one in config.synonyms)]
        if all(level is None or level in _LEVELS for level in levels):
            yield config


def _synonyms(synonyms: tuple[Any, ...], number: int) -> Iterator[Any]:
    for one in synonyms:
        if not one.name.startswith(OF_LISTENERS):
            shown = (
                _numbered(one.name, one.value, number) if is_shown(one.name, one.value) else None
            )
            yield changed(one, {"value": shown})


def _numbered(name: str, value: str | None, number: int) -> str | None:
    if not number or name not in _NODE_IDS or not _NODE_ID.fullmatch(value or ""):
        return value
    return str(virtual_node_id(number, int(value or 0)))
