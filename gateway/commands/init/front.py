"""The address to listen on, the host that is advertised to clients, and the certificate."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gateway.commands.errors import CommandError
from gateway.commands.init.login import absolute
from gateway.config.security import ListenerTls
from gateway.tls.certificate_names import covers, names_of
from gateway.tls.contexts import TlsError, read_certificates, seconds_left, server_context

_FLAGS = {"certificate": "--tls-certificate", "key": "--tls-key", "client_ca": "--client-ca"}
_ENCRYPTED = "give key_password"


class Front(NamedTuple):
    """The settings that all listeners share. Without ``tls`` clients connect in plain text."""

    bind: str
    advertised_host: str
    tls: ListenerTls | None = None


def listener_tls(certificate: Path, key: Path, client_ca: Path | None) -> ListenerTls:
    """The TLS of listeners, with absolute paths. Raises CommandError if a file cannot be used."""
    tls = ListenerTls(
        certificate=absolute(certificate),
        key=absolute(key),
        client_auth="none" if client_ca is None else "required",
        client_ca=None if client_ca is None else absolute(client_ca),
    )
    try:
        server_context(tls)
        left = seconds_left(read_certificates("certificate", tls.certificate))
    except TlsError as error:
        reason = error.reason.replace(
            _ENCRYPTED,
            "write one without a password for init, and name"
            " its password's file as key_password afterwards",
        )
        raise CommandError(f"{_FLAGS.get(error.key, '--tls-key')}: {reason}") from None
    if left <= 0:
        raise CommandError(f"--tls-certificate: '{certificate}' has expired; renew it")
    return tls


def hosts_of(tls: ListenerTls) -> tuple[str, ...]:
    """The hosts that a listener's certificate is for. Raises TlsError."""
    return names_of(read_certificates("certificate", tls.certificate)[0])


def check_name(tls: ListenerTls | None, host: str) -> None:
    """Raises CommandError if clients would not accept the certificate at ``host``."""
    if tls is None:
        return
    names = hosts_of(tls)
    if not covers(names, host):
        known = f"it is for {', '.join(names)}" if names else "it names no host at all"
        raise CommandError(
            f"--advertised-host: the certificate is not for '{host}', and {known}; advertise a host"
            " that it is for, or get one with that subject alternative name"
        )


def name_for(bind: str, tls: ListenerTls | None) -> str | None:
    """The host that the certificate suggests to advertise, if it suggests any."""
    if tls is None:
        return None
    names = hosts_of(tls)
    if covers(names, bind):
        return bind
    return next((name for name in names if "*" not in name), None)
