"""What the keys of listeners that encrypt and ask who is there mean together, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.broker_names import BrokerNames
from gateway.config.errors import Key, Problem
from gateway.config.models import Listener
from gateway.config.security import ListenerTls
from gateway.node_ids import NodeIdRanges
from gateway.tls.contexts import TlsError, server_context
from gateway.tls.principal_mapping import InvalidRules, PrincipalMapping

MAX_NAMES = 65_535
"""Brokers that may have a name on one listener: as many as could have ports."""


def tls_problems(
    listeners: Mapping[int, Listener], ranges: NodeIdRanges | None
) -> Iterator[Problem]:
    """Every mistake in what listeners have of TLS, and in the files of it."""
    for index, listener in listeners.items():
        where: Key = ("listeners", index)
        protocol = listener.security_protocol
        encrypted = protocol in ("SSL", "SASL_SSL")
        if encrypted and listener.tls is None:
            text = f"is missing, as security_protocol is {protocol}; give certificate and key"
            yield Problem((*where, "tls"), text)
        elif listener.tls is not None and not encrypted:
            text = f"means nothing with {protocol}; make security_protocol SSL or SASL_SSL"
            yield Problem((*where, "tls"), text)
        elif listener.tls is not None:
            yield from _tls((*where, "tls"), listener.tls, protocol)
        if listener.broker_names is not None:
            yield from _names(where, listener, listener.broker_names, ranges)


def _tls(where: Key, tls: ListenerTls, protocol: str) -> Iterator[Problem]:
    try:
        PrincipalMapping(tls.principal_mapping_rules)
    except InvalidRules as error:
        yield Problem((*where, "principal_mapping_rules"), str(error))
    if "principal_mapping_rules" in tls.model_fields_set and protocol == "SASL_SSL":
        text = "means nothing with SASL_SSL, where principals are SASL's; remove it"
        yield Problem((*where, "principal_mapping_rules"), text)
    if tls.client_auth == "none":
        for key in ("client_ca", "principal_mapping_rules"):
            if key in tls.model_fields_set:
                text = "means nothing while client_auth is none; make that required, or remove it"
                yield Problem((*where, key), text)
    try:
        server_context(tls)
    except TlsError as error:
        yield Problem((*where, error.key), error.reason)


def _names(
    where: Key, listener: Listener, pattern: str, ranges: NodeIdRanges | None
) -> Iterator[Problem]:
    key: Key = (*where, "broker_names")
    if listener.security_protocol not in ("SSL", "SASL_SSL"):
        text = "needs TLS, in which clients say what name they ask for; make security_protocol SSL"
        yield Problem(key, f"{text} or SASL_SSL")
    if "broker_base_port" in listener.model_fields_set:
        text = "means nothing with broker_names: all brokers are at the bootstrap port; remove it"
        yield Problem((*where, "broker_base_port"), text)
    if ranges is None:
        return
    if ranges.size > MAX_NAMES:
        text = f"would make {ranges.size:,} names; give at most {MAX_NAMES:,} node_ids"
        yield Problem(key, text)
    try:
        BrokerNames(pattern, listener.advertised_host, ranges)
    except ValueError as error:
        yield Problem(key, str(error))
