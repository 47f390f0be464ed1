"""Brokers that do not respond: a sentence for each address, with the next step."""

from __future__ import annotations

from collections.abc import Sequence

from gateway import exit_codes
from gateway.brokers.errors import BrokerError, SecurityError
from gateway.brokers.spoken import NO_BROKER, Spoken
from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import CommandError
from gateway.config.addresses import Address


class Unanswered(CommandError):
    """No broker has answered the query.

    ``spoken`` is the protocol that an address speaks instead of the protocol that was tried, or
    None if the protocol is not the problem. If the login was ``rejected``, the exit status is
    FAILED, else UNAVAILABLE, as for an address without a server.
    """

    def __init__(
        self, reasons: Sequence[str], *, spoken: Spoken | None = None, rejected: bool = False
    ) -> None:
        super().__init__("\n".join(reasons))
        self.spoken = spoken
        self.status = exit_codes.FAILED if rejected else exit_codes.UNAVAILABLE


def sentence(
    server: Address, error: BrokerError, spoken: Spoken | None, security: ClientSecurity
) -> str:
    """The reason why an address has not answered, and the next step."""
    if spoken is not None and not spoken.is_broker:
        return f"{server} {NO_BROKER}"
    if spoken is not None:
        return f"{server} {spoken}; {_step(spoken, security)}"
    text = security.with_properties(str(error))
    if isinstance(error, SecurityError) or "; " in text or text.endswith("?"):
        return f"{server}: {text}"
    if text.startswith(("cannot connect", "no connection")):
        step = "see that Kafka runs there, and that --bootstrap-server is what it advertises"
    else:
        step = "see that --bootstrap-server is a broker's listener for clients"
    return f"{server}: {text}; {step}"


def _step(spoken: Spoken, security: ClientSecurity) -> str:
    protocol = " or ".join(spoken.protocols)
    wanted = f"security.protocol={protocol}"
    if spoken.mechanisms:
        wanted += ", sasl.mechanism and sasl.jaas.config"
    if security.path is not None:
        return f"write {wanted} into {security.path}"
    if spoken.protocols == ("PLAINTEXT",):
        return "leave --command-config out"
    return f"give a file with {wanted}: --command-config client.properties"
