"""Rules between the keys for security of listeners, clusters and the catalog, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gateway.auth.exchange import CredentialsError
from gateway.auth.jwks import FileKeys
from gateway.auth.mechanisms import URLS
from gateway.broker_names import BrokerNames
from gateway.brokers.login import BrokerLogin, LoginError
from gateway.catalog.signatures import KeyFile, KeyFileError
from gateway.config.errors import Key, Problem
from gateway.config.models import CatalogSettings, Listener
from gateway.config.security import ClusterSecurity, ListenerSasl, ListenerTls, Secret, SecretError
from gateway.node_ids import NodeIdRanges
from gateway.tls.contexts import TlsError, client_context, server_context
from gateway.tls.principal_mapping import InvalidRules, PrincipalMapping

MAX_NAMES: Final = 65_535
"""Brokers that may have a name on one listener: as many as could have ports."""

KEY: Final[Key] = ("clusters", 0, "security")
CATALOG_KEY: Final[Key] = ("catalog", "security")

_TLS: Final = ("SSL", "SASL_SSL")
_SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")


def tls_problems(
    listeners: Mapping[int, Listener], ranges: NodeIdRanges | None
) -> Iterator[Problem]:
    """Every mistake in the TLS settings of listeners, and in their files."""
    for index, listener in listeners.items():
        where: Key = ("listeners", index)
        protocol = listener.security_protocol
        encrypted = protocol in _TLS
        if encrypted and listener.tls is None:
            text = f"is missing, as security_protocol is {protocol}; give certificate and key"
            yield Problem((*where, "tls"), text)
        elif listener.tls is not None and not encrypted:
            text = f"means nothing with {protocol}; make security_protocol SSL or SASL_SSL"
            yield Problem((*where, "tls"), text)
        elif listener.tls is not None:
            yield from _listener_tls((*where, "tls"), listener.tls, protocol)
        if listener.broker_names is not None:
            yield from _names(where, listener, listener.broker_names, ranges)


def _listener_tls(where: Key, tls: ListenerTls, protocol: str) -> Iterator[Problem]:
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
    if listener.security_protocol not in _TLS:
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


def sasl_problems(listeners: Mapping[int, Listener]) -> Iterator[Problem]:
    """Every mistake in the SASL settings of listeners."""
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
        _, problems = _read((*where, user), secret)
        yield from problems


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


def cluster_problems(
    security: ClusterSecurity | None, listeners: Mapping[int, Listener]
) -> Iterator[Problem]:
    """Every mistake in a cluster's security, and with listeners that pass logins through; None: it
    is not valid by itself."""
    if security is None:
        return
    yield from _broker_security(KEY, security)
    for index, listener in listeners.items():
        if listener.sasl is None or not listener.sasl.pass_through:
            continue
        if security.protocol not in _SASL:
            text = (
                f"needs brokers that let clients log in, not {security.protocol}; make "
                "clusters[0].security.protocol SASL_PLAINTEXT or SASL_SSL"
            )
            yield Problem(("listeners", index, "sasl", "pass_through"), text)


def catalog_problems(catalog: CatalogSettings | None) -> Iterator[Problem]:
    """Every mistake in the catalog's security and signing key; None: not valid by itself."""
    if catalog is None:
        return
    if catalog.security is not None:
        yield from _broker_security(CATALOG_KEY, catalog.security)
    if catalog.key_file is not None:
        try:
            KeyFile(catalog.key_file).load()
        except KeyFileError as error:
            yield Problem(("catalog", "key_file"), str(error))


def _broker_security(where: Key, security: ClusterSecurity) -> Iterator[Problem]:
    protocol, sasl = security.protocol, security.sasl
    if protocol in _TLS:
        try:
            client_context(security.tls)
        except TlsError as error:
            yield Problem((*where, "tls", error.key), error.reason)
    elif "tls" in security.model_fields_set:
        other = "SSL" if protocol == "PLAINTEXT" else "SASL_SSL"
        text = f"means nothing with {protocol}; make protocol {other} or remove it"
        yield Problem((*where, "tls"), text)
    key: Key = (*where, "sasl")
    if sasl is None:
        if protocol in _SASL:
            text = f"is missing, as protocol is {protocol}"
            yield Problem(key, f"{text}; give mechanism, username and password")
    elif protocol not in _SASL:
        other = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
        yield Problem(key, f"means nothing with {protocol}; make protocol {other}")
    else:
        password, problems = _read((*key, "password"), sasl.password)
        yield from problems
        if not problems:
            try:
                BrokerLogin(sasl.mechanism, sasl.username, password, "")
            except LoginError as error:
                reason = str(error).partition("; ")[0]
                yield Problem(key, f"{reason}; change username or password")


def _read(key: Key, secret: Secret) -> tuple[str, list[Problem]]:
    """A secret, and the problem if it cannot be read."""
    try:
        return secret.read(), []
    except SecretError as error:
        text = str(error)
        return "", [Problem(key, text if "; " in text else f"{text}; correct it")]
