"""Rules between the security keys of listeners, clusters and the catalog, and for their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from gateway.auth.exchange import CredentialsError
from gateway.auth.jwks import URLS, FileKeys, check_url
from gateway.broker_names import BrokerNames, is_host_name
from gateway.brokers.errors import LoginError
from gateway.brokers.login import BrokerLogin
from gateway.catalog.log.signatures import KeyFile, KeyFileError
from gateway.config.connecting import SecretError
from gateway.config.errors import Key, Problem
from gateway.config.models import CatalogSettings, Listener
from gateway.config.security import ClusterSecurity, ListenerSasl, Secret
from gateway.config_file.parts import Parts
from gateway.identity import InvalidPrincipal, check_principal
from gateway.node_ids import NodeIdRanges, virtual_node_id
from gateway.tls.contexts import TlsError, client_context, server_context
from gateway.tls.principal_mapping import InvalidRules, PrincipalMapping

MAX_NAMES: Final = 65_535
"""Brokers that may have a host name on a listener: as many as could have ports."""

_TLS: Final = ("SSL", "SASL_SSL")
_SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")
_PAIR: Final = "give certificate and key"


_Found: TypeAlias = Iterator[tuple[Key, str]]
"""The rest of a problem's key, below the key that is checked, and the problem's text."""


def tls_problems(parts: Parts) -> Iterator[Problem]:
    """Every mistake in the TLS settings of listeners, and in the files that they name."""
    for index, listener in parts.listeners.items():
        for key, text in (*_tls(listener), *_broker_names(parts, listener)):
            yield Problem(("listeners", index, *key), text)


def _tls(listener: Listener) -> _Found:
    protocol, tls = listener.security_protocol, listener.tls
    if tls is None:
        if protocol in _TLS:
            yield ("tls",), f"is missing, as security_protocol is {protocol}; {_PAIR}"
        return
    if protocol not in _TLS:
        yield ("tls",), f"means nothing with {protocol}; make security_protocol SSL or SASL_SSL"
        return
    rules: Key = ("tls", "principal_mapping_rules")
    try:
        PrincipalMapping(tls.principal_mapping_rules)
    except InvalidRules as error:
        yield rules, str(error)
    if rules[1] in tls.model_fields_set and protocol == "SASL_SSL":
        yield rules, "means nothing with SASL_SSL, where principals are SASL's; remove it"
    if tls.client_auth == "none":
        text = "means nothing while client_auth is none; make that required, or remove it"
        for key in sorted(tls.model_fields_set & {"client_ca", "principal_mapping_rules"}):
            yield ("tls", key), text
    try:
        server_context(tls)
    except TlsError as error:
        yield ("tls", error.key), error.reason


def _broker_names(parts: Parts, listener: Listener) -> _Found:
    if listener.broker_names is None:
        if listener.gateway_name is not None:
            yield ("gateway_name",), "means nothing without broker_names; give a gateway_port"
        return
    key: Key = ("broker_names",)
    if listener.gateway_port is not None:
        text = "means nothing with broker_names: give the gateway a gateway_name"
        yield ("gateway_port",), text
    if listener.security_protocol not in _TLS:
        text = "needs TLS, in which clients say what name they ask for; make security_protocol SSL"
        yield key, f"{text} or SASL_SSL"
    if "broker_base_port" in listener.model_fields_set:
        text = "means nothing with broker_names: all brokers are at the bootstrap port; remove it"
        yield ("broker_base_port",), text
    ranges = parts.ranges_of(listener)
    if ranges is None:
        return
    size = sum(one.size for one in ranges)
    if size > MAX_NAMES:
        yield key, f"would make {size:,} names; give at most {MAX_NAMES:,} node_ids"
    try:
        for cluster, each in zip(parts.reach_of(listener), ranges, strict=True):
            _check_names(listener.broker_names, listener.advertised_host, each, cluster.number or 0)
    except ValueError as error:
        yield key, str(error)
        return
    if listener.gateway_name is None:
        return
    numbers = [cluster.number or 0 for cluster in parts.reach_of(listener)]
    virtual = NodeIdRanges.virtual(zip(numbers, ranges, strict=True))
    try:
        BrokerNames(listener.broker_names, listener.advertised_host, virtual, listener.gateway_name)
    except ValueError as error:
        yield ("gateway_name",), str(error)


def _check_names(pattern: str, bootstrap: str, ranges: NodeIdRanges, number: int) -> None:
    """Raise ValueError if brokers of the cluster with this number cannot have host names."""
    if number == 0:
        BrokerNames(pattern, bootstrap, ranges)
        return
    # Host names have the node ids that clients see; the cluster's own ids are in no host name.
    names = BrokerNames(pattern, "", ranges)
    longest = names.host(virtual_node_id(number, ranges.highest))
    if not is_host_name(longest):
        raise ValueError(f"'{pattern}' gives '{longest}', which is no host name; shorten it")
    plain = bootstrap.casefold().removesuffix(".")
    for node_id in ranges:
        if names.host(virtual_node_id(number, node_id)) == plain:
            raise ValueError(
                f"'{bootstrap}' is the name of broker {node_id} too; the bootstrap needs its own"
            )


def sasl_problems(listeners: Mapping[int, Listener]) -> Iterator[Problem]:
    """Every mistake in the SASL settings of listeners."""
    for index, listener in listeners.items():
        for key, text in _sasl(listener.security_protocol, listener.sasl):
            yield Problem(("listeners", index, "sasl", *key), text)


def _sasl(protocol: str, sasl: ListenerSasl | None) -> _Found:
    if sasl is None:
        if protocol in _SASL:
            yield (), f"is missing, as security_protocol is {protocol}; give its mechanisms"
        return
    if protocol not in _SASL:
        other = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
        yield (), f"means nothing with {protocol}; make security_protocol {other}"
        return
    for mechanism, count in Counter(sasl.mechanisms).items():
        if count > 1:
            yield ("mechanisms",), f"{mechanism} is there {count} times; once is enough"
    yield from _users(sasl)
    for key, text in _oauthbearer(sasl):
        yield ("oauthbearer", *key), text


def _users(sasl: ListenerSasl) -> _Found:
    key: Key = ("users",)
    if sasl.pass_through or "PLAIN" not in sasl.mechanisms:
        if sasl.users and sasl.pass_through:
            yield key, "means nothing with pass_through: brokers have them; remove it"
        elif sasl.users:
            yield key, "means nothing without PLAIN among the mechanisms; add that or remove it"
        return
    if not sasl.users:
        yield key, "is missing, as PLAIN is among the mechanisms; give name and secret"
    for user, secret in sasl.users.items():
        if not user:
            yield key, "has a user without a name; give it one"
            continue
        try:
            check_principal(f"User:{user}")
        except InvalidPrincipal as error:
            yield key, f"has a user who could not log in: {error}"
        _, problem = _read(secret)
        if problem:
            yield ("users", user), problem


def _oauthbearer(sasl: ListenerSasl) -> _Found:
    settings = sasl.oauthbearer
    if "OAUTHBEARER" not in sasl.mechanisms:
        if settings is not None:
            yield (
                (),
                "means nothing without OAUTHBEARER among the mechanisms; add that or remove it",
            )
    elif settings is None:
        if not sasl.pass_through:
            yield (), "is missing, as OAUTHBEARER is among the mechanisms; give jwks and audience"
    elif sasl.pass_through:
        for name in sorted(settings.model_fields_set - {"principal_claim"}):
            yield (name,), "means nothing with pass_through: brokers check tokens; remove it"
    else:
        for name in ("jwks", "audience"):
            if not getattr(settings, name):
                yield (name,), "is missing; add it"
        if settings.jwks is not None:
            is_url = settings.jwks.startswith(URLS)
            yield from _jwks_url(settings.jwks) if is_url else _jwks_file(settings.jwks)


def _jwks_url(jwks: str) -> _Found:
    try:
        check_url(jwks)
    except ValueError as error:
        yield ("jwks",), f"'{jwks}' is no URL: {error}; correct it"


def _jwks_file(jwks: str) -> _Found:
    if "://" in jwks:
        text = f"'{jwks}' is neither a file nor at http:// or https://; give its path or URL"
        yield ("jwks",), text
        return
    try:
        FileKeys(Path(jwks), "").load()
    except CredentialsError as error:
        yield ("jwks",), f"{str(error).removeprefix(': ')}; give a JWKS (RFC 7517)"


def cluster_problems(parts: Parts) -> Iterator[Problem]:
    """Every mistake in clusters' security, and in listeners whose logins pass through to
    brokers."""
    for place, cluster in parts.clusters.items():
        if cluster.security is not None:
            yield from _broker_security(("clusters", place, "security"), cluster.security)
    for index, listener in parts.listeners.items():
        volume = parts.volume_of(listener)
        security = None if volume is None else parts.clusters[volume].security
        if security is None or listener.sasl is None or not listener.sasl.pass_through:
            continue
        if security.protocol not in _SASL:
            text = (
                f"needs brokers that let clients log in, not {security.protocol}; make "
                f"clusters[{volume}].security.protocol SASL_PLAINTEXT or SASL_SSL"
            )
            yield Problem(("listeners", index, "sasl", "pass_through"), text)


def catalog_problems(catalog: CatalogSettings | None, where: Key) -> Iterator[Problem]:
    """Every mistake in a catalog's security and signing key, if there is a catalog that is valid by
    itself. ``where`` is the key that it is below."""
    if catalog is None:
        return
    if catalog.security is not None:
        yield from _broker_security((*where, "catalog", "security"), catalog.security)
    if catalog.key_file is not None:
        try:
            KeyFile(catalog.key_file).load()
        except KeyFileError as error:
            yield Problem((*where, "catalog", "key_file"), str(error))


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
        password, problem = _read(sasl.password)
        if problem:
            yield Problem((*key, "password"), problem)
        else:
            try:
                BrokerLogin(sasl.mechanism, sasl.username, password, "")
            except LoginError as error:
                reason = str(error).partition("; ")[0]
                yield Problem(key, f"{reason}; change username or password")


def _read(secret: Secret) -> tuple[str, str]:
    """A secret and an empty text, or an empty secret and the text of the problem if it cannot be
    read."""
    try:
        return secret.read(), ""
    except SecretError as error:
        text = str(error)
        return "", text if "; " in text else f"{text}; correct it"
