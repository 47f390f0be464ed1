"""What the keys of listeners that encrypt and ask who is there mean together, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.auth.exchange import CredentialsError
from gateway.auth.jwks import FileKeys
from gateway.auth.mechanisms import URLS
from gateway.broker_names import BrokerNames
from gateway.config.errors import Key, Problem
from gateway.config.models import Listener
from gateway.config.security import ListenerSasl, ListenerTls, SecretError
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


_SASL = ("SASL_PLAINTEXT", "SASL_SSL")


def sasl_problems(listeners: Mapping[int, Listener]) -> Iterator[Problem]:
    """Every mistake in what listeners have of SASL."""
    for index, listener in listeners.items():
        key: Key = ("listeners", index, "sasl")
        protocol, sasl = listener.security_protocol, listener.sasl
        if protocol in _SASL and sasl is None:
            text = f"is missing, as security_protocol is {protocol}; give its mechanisms"
            yield Problem(key, text)
        elif sasl is not None and protocol not in _SASL:
            other = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
            yield Problem(key, f"means nothing with {protocol}; make security_protocol {other}")
        elif sasl is not None:
            yield from _repeated(key, sasl)
            yield from _users(key, sasl)
            yield from _oauthbearer(key, sasl)


def _repeated(key: Key, sasl: ListenerSasl) -> Iterator[Problem]:
    for mechanism, count in Counter(sasl.mechanisms).items():
        if count > 1:
            text = f"{mechanism} is there {count} times; once is enough"
            yield Problem((*key, "mechanisms"), text)


def _users(key: Key, sasl: ListenerSasl) -> Iterator[Problem]:
    where: Key = (*key, "users")
    if sasl.pass_through:
        if sasl.users:
            yield Problem(where, "means nothing with pass_through: brokers have them; remove it")
        return
    if "PLAIN" not in sasl.mechanisms:
        if sasl.users:
            text = "means nothing without PLAIN among the mechanisms; add that or remove it"
            yield Problem(where, text)
        return
    if not sasl.users:
        yield Problem(where, "is missing, as PLAIN is among the mechanisms; give name and secret")
    for user, secret in sasl.users.items():
        if not user or "\0" in user:
            yield Problem(where, "has a user without a name that PLAIN can carry; give it one")
        try:
            secret.read()
        except SecretError as error:
            text = str(error)
            yield Problem((*where, user), text if "; " in text else f"{text}; correct it")


def _oauthbearer(key: Key, sasl: ListenerSasl) -> Iterator[Problem]:
    where: Key = (*key, "oauthbearer")
    if "OAUTHBEARER" not in sasl.mechanisms:
        if sasl.oauthbearer is not None:
            text = "means nothing without OAUTHBEARER among the mechanisms; add that or remove it"
            yield Problem(where, text)
    elif sasl.oauthbearer is not None and sasl.pass_through:
        for name in sorted(sasl.oauthbearer.model_fields_set - {"principal_claim"}):
            text = "means nothing with pass_through: brokers check tokens; remove it"
            yield Problem((*where, name), text)
    elif sasl.oauthbearer is not None:
        for name in ("jwks", "audience"):
            if not getattr(sasl.oauthbearer, name):
                yield Problem((*where, name), "is missing; add it")
        if sasl.oauthbearer.jwks is not None:
            yield from _jwks((*where, "jwks"), sasl.oauthbearer.jwks)
    elif not sasl.pass_through:
        text = "is missing, as OAUTHBEARER is among the mechanisms; give jwks and audience"
        yield Problem(where, text)


def _jwks(key: Key, jwks: str) -> Iterator[Problem]:
    if jwks.startswith(URLS):
        return
    if "://" in jwks:
        text = f"'{jwks}' is neither a file nor at http:// or https://; give its path or URL"
        yield Problem(key, text)
        return
    try:
        FileKeys(Path(jwks), "").load()
    except CredentialsError as error:
        yield Problem(key, f"{str(error).removeprefix(': ')}; give a JWKS (RFC 7517)")
