"""Listeners: ports that cannot be bound, and listeners that are open to other machines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Final

from gateway.checks.running import RunningGateway
from gateway.config.errors import Problem
from gateway.config.models import Config, Listener
from gateway.config.reach import volume_of
from gateway.config.security import STANDARD_AUTHORIZER
from gateway.config.values import is_loopback
from gateway.config_file.binding import IN_USE, try_to_bind
from gateway.config_file.rules import PortClaim
from gateway.identity import ANONYMOUS
from gateway.policies.tree import Policies

log = logging.getLogger(__name__)


_IS_ANONYMOUS: Final = (
    f"every client that does not log in is {ANONYMOUS.principal}, which `authorization` lets do"
    " only what ACLs allow it or User:*, and no super user can come this way. So a restart locks"
    " out applications that run today, unless there are such ACLs; let clients log in, or see who"
    " it would be: check --cluster --dry-run"
)


def probe(claims: Iterable[PortClaim], running: RunningGateway | None = None) -> list[Problem]:
    """Bind all ports at once, as the workers will, and release them. Returns a problem for each
    claim with ports that cannot be bound. Ports in use by ``running`` are left out: they will be
    free once it has ended."""
    problems: list[Problem] = []
    with ExitStack() as bound:
        for claim in claims:
            unbound: dict[str, list[int]] = {}
            for port in range(claim.first, claim.last + 1):
                reason = try_to_bind(claim.host, port, bound)
                if reason == IN_USE and running is not None and running.holds(claim.host, port):
                    continue
                if reason is not None:
                    unbound.setdefault(reason, []).append(port)
            for reason, ports in unbound.items():
                problems.append(Problem(claim.key, _sentence(claim, reason, ports)))
    return problems


def _sentence(claim: PortClaim, reason: str, ports: list[int]) -> str:
    shown = ", ".join(map(str, ports[:8])) + (", ..." if len(ports) > 8 else "")
    noun = "port" if len(ports) == 1 else "ports"
    return (
        f"{claim.text} cannot be bound on '{claim.host}': {noun} {shown}: {reason}; "
        "free them or choose others"
    )


def exposures(config: Config) -> Iterator[tuple[Listener, str]]:
    """Each listener that other machines reach without authentication or authorization, and why."""
    for listener in config.listeners:
        if is_loopback(listener.bind):
            continue
        if not authenticates(listener):
            yield listener, "clients need not authenticate"
        elif config.authorization is None:
            yield listener, _without_authorization(config, listener)


def _without_authorization(config: Config, listener: Listener) -> str:
    if listener.sasl is None or not listener.sasl.pass_through:
        return "every client that can connect may do everything, as there is no authorization"
    rights = "every client that can log in at the brokers may do everything in namespaces"
    if Policies(config.of_volume(volume_of(config, listener)).policies).judges:
        rights += ", and create and alter topics of the default namespace, as there are policies"
    return (
        f"{rights}: there is no authorization, and the brokers' ACLs on clients do not cover the"
        " requests of the gateway's own"
    )


def closed_to_everybody(config: Config) -> Iterator[tuple[Listener, str]]:
    """Each listener that has ACLs but does not authenticate its clients, and the consequence.
    Nothing is returned if no client needs an ACL or the authorizer is a custom class."""
    settings = config.authorization
    if settings is None or settings.authorizer != STANDARD_AUTHORIZER or settings.allow_everyone:
        return
    if ANONYMOUS.principal in settings.super_users:
        return
    for listener in config.listeners:
        if not authenticates(listener):
            yield listener, _IS_ANONYMOUS


def authenticates(listener: Listener) -> bool:
    """Whether every client of a listener has to authenticate."""
    if listener.security_protocol.startswith("SASL_"):
        return True
    return listener.tls is not None and listener.tls.client_auth == "required"


def warn_of_exposures(config: Config) -> None:
    """Log a line for each exposed listener, once at start."""
    for listener, reason in exposures(config):
        log.warning("listener %s is open to other machines: %s", listener.name, reason)
