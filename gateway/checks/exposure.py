"""Listeners that let in whoever reaches them: legal, and said at start."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterator

from gateway.config.models import Config, Listener
from gateway.policies.tree import Policies

log = logging.getLogger(__name__)


def exposures(config: Config) -> Iterator[tuple[Listener, str]]:
    """Each listener that other machines reach, with what it lacks."""
    for listener in config.listeners:
        if _is_loopback(listener.bind):
            continue
        if not authenticates(listener):
            yield listener, "nobody has to say who they are"
        elif config.authorization is None:
            yield listener, _without_authorization(config, listener)


def _without_authorization(config: Config, listener: Listener) -> str:
    if listener.sasl is None or not listener.sasl.pass_through:
        return "whoever may connect may do everything, as there is no authorization"
    told = "whoever may log in at the brokers may do everything in namespaces"
    if Policies(config.policies).judges:
        told += ", and make and change topics of the default namespace, as there are policies"
    return (
        f"{told}: there is no authorization, and what the gateway does itself the brokers' ACLs on"
        " clients do not forbid"
    )


def authenticates(listener: Listener) -> bool:
    """Whether every client of a listener has to prove who it is."""
    if listener.security_protocol.startswith("SASL_"):
        return True
    return listener.tls is not None and listener.tls.client_auth == "required"


def warn_of_exposures(config: Config) -> None:
    """A line for each of them, once at start."""
    for listener, what in exposures(config):
        log.warning("listener %s is open to other machines: %s", listener.name, what)


def _is_loopback(bind: str) -> bool:
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind.casefold() == "localhost"
