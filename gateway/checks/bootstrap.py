"""``kafka-gateway check --cluster``: whether brokers respond at the addresses in the file.

Each address is tried once, so a wrong address is reported at once, with the protocol spoken there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.lookups import LOOKUPS
from gateway.brokers.reaching import unreachable
from gateway.brokers.security import BrokerSecurity
from gateway.brokers.spoken import NO_BROKER, Spoken, mismatch
from gateway.config.addresses import Address
from gateway.config.errors import Key, Problem, key_text
from gateway.config.models import Config
from protocol.messages import Request

STEP_SECONDS: Final = 5.0
"""Seconds for each step: connecting, and each response."""

_NO_TOPICS: Final = Request(
    "MetadataRequest", 8, {"topics": (), "allow_auto_topic_creation": False}
)


class Bootstrap(NamedTuple):
    """The result of trying the addresses."""

    answers: bool
    """Whether a broker responds at one of the addresses."""
    problems: Sequence[Problem]
    """A problem for each address where no broker responds, without hosts that do not resolve, which
    are reported without the cluster, too."""


async def ask_bootstrap(config: Config, timeout: float = STEP_SECONDS) -> Bootstrap:
    """Try each of the first cluster's ``bootstrap_servers``."""
    servers = config.clusters[0].bootstrap_servers
    security = BrokerSecurity(config.clusters[0].security, config.security_key)
    errors = await asyncio.gather(*(_why_not(server, security, timeout) for server in servers))
    key: Key = (*config.cluster_key, "bootstrap_servers")
    problems = [
        Problem((*key, index), await _sentence(config, server, error, timeout))
        for index, (server, error) in enumerate(zip(servers, errors, strict=True))
        if error is not None and await _resolves(server)
    ]
    return Bootstrap(None in errors, problems)


async def unreachable_brokers(
    config: Config, brokers: Mapping[int, tuple[str, int]], timeout: float = STEP_SECONDS
) -> list[Problem]:
    """A warning for each broker that cannot be reached at its advertised address."""
    security = BrokerSecurity(config.clusters[0].security, config.security_key)
    reasons = await unreachable(brokers, security, timeout)
    return [
        Problem(
            config.cluster_key,
            f"broker {node} advertises {Address(*brokers[node])}, where it cannot be reached from"
            f" here: {reason}; correct its advertised.listeners, or this machine's names",
        )
        for node, reason in reasons.items()
    ]


async def _why_not(server: Address, security: BrokerSecurity, timeout: float) -> BrokerError | None:
    """Why no broker responds at the address, or None if a broker does."""
    try:
        connection = await BrokerConnection.connect(*server, timeout=timeout, security=security)
    except BrokerError as error:
        return error
    try:
        await connection.ask(_NO_TOPICS)
    except BrokerError as error:
        return error
    finally:
        connection.close()
    return None


async def _sentence(config: Config, server: Address, error: BrokerError, timeout: float) -> str:
    settings = config.clusters[0].security
    spoken = await mismatch(*server, settings.protocol, error, timeout)
    if spoken is not None and not spoken.is_broker:
        return f"'{server}' {NO_BROKER}"
    if spoken is not None:
        return f"'{server}' {spoken}; {_step(config, spoken)}"
    text = str(error)
    if "; " not in text:
        # A broker at its limit leaves a new connection in its backlog, as one that hangs does.
        full = ", that it is not at its max.connections," if text.startswith("no answer") else ","
        text += f"; see that it runs{full} and that {key_text(config.cluster_key)} names it"
    return f"'{server}' does not answer: {text}"


def _step(config: Config, spoken: Spoken) -> str:
    key, settings = config.security_key, config.clusters[0].security
    step = f"make {key}.protocol {' or '.join(spoken.protocols)}"
    if spoken.mechanisms and settings.sasl is None:
        step += f", and give {key}.sasl with mechanism, username and password"
    if not spoken.mechanisms and settings.sasl is not None and spoken.mechanisms is not None:
        step += f", without {key}.sasl"
    return step


async def _resolves(server: Address) -> bool:
    try:
        await LOOKUPS.addresses(*server)
    except (OSError, UnicodeError):
        return False
    return True
