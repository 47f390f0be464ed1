"""What the keys of ``clusters.security`` and ``catalog`` mean together, and with listeners that
pass logins on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.brokers.login import BrokerLogin, LoginError
from gateway.catalog.log.signatures import KeyFile, KeyFileError
from gateway.config.errors import Key, Problem
from gateway.config.models import CatalogSettings, Listener
from gateway.config.security import ClientSasl, ClusterSecurity, SecretError
from gateway.tls.contexts import TlsError, client_context

KEY: Final[Key] = ("clusters", 0, "security")
CATALOG_KEY: Final[Key] = ("catalog", "security")


def cluster_problems(
    security: ClusterSecurity | None, listeners: Mapping[int, Listener]
) -> Iterator[Problem]:
    """Every mistake in how brokers are connected to; ``security`` None: it is not understood."""
    if security is None:
        return
    yield from _tls(KEY, security)
    yield from _sasl(KEY, security)
    for index, listener in listeners.items():
        if listener.sasl is None or not listener.sasl.pass_through:
            continue
        if not security.protocol.startswith("SASL_"):
            text = (
                f"needs brokers that let clients log in, not {security.protocol}; make "
                "clusters[0].security.protocol SASL_PLAINTEXT or SASL_SSL"
            )
            yield Problem(("listeners", index, "sasl", "pass_through"), text)


def catalog_problems(catalog: CatalogSettings | None) -> Iterator[Problem]:
    """Every mistake in how the catalog is reached and signed; None: it is not understood."""
    if catalog is None:
        return
    if catalog.security is not None:
        yield from _tls(CATALOG_KEY, catalog.security)
        yield from _sasl(CATALOG_KEY, catalog.security)
    if catalog.key_file is not None:
        try:
            KeyFile(catalog.key_file).load()
        except KeyFileError as error:
            yield Problem(("catalog", "key_file"), str(error))


def _tls(where: Key, security: ClusterSecurity) -> Iterator[Problem]:
    encrypted = security.protocol in ("SSL", "SASL_SSL")
    if "tls" in security.model_fields_set and not encrypted:
        other = "SSL" if security.protocol == "PLAINTEXT" else "SASL_SSL"
        text = f"means nothing with {security.protocol}; make protocol {other} or remove it"
        yield Problem((*where, "tls"), text)
    elif encrypted:
        try:
            client_context(security.tls)
        except TlsError as error:
            yield Problem((*where, "tls", error.key), error.reason)


def _sasl(where: Key, security: ClusterSecurity) -> Iterator[Problem]:
    key: Key = (*where, "sasl")
    logs_in = security.protocol.startswith("SASL_")
    if security.sasl is None:
        if logs_in:
            text = f"is missing, as protocol is {security.protocol}"
            yield Problem(key, f"{text}; give mechanism, username and password")
    elif not logs_in:
        other = "SASL_SSL" if security.protocol == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
        yield Problem(key, f"means nothing with {security.protocol}; make protocol {other}")
    else:
        yield from _identity(key, security.sasl)


def _identity(key: Key, sasl: ClientSasl) -> Iterator[Problem]:
    try:
        password = sasl.password.read()
    except SecretError as error:
        text = str(error)
        yield Problem((*key, "password"), text if "; " in text else f"{text}; correct it")
        return
    try:
        BrokerLogin(sasl.mechanism, sasl.username, password, "")
    except LoginError as error:
        yield Problem(key, f"{str(error).partition('; ')[0]}; change username or password")
