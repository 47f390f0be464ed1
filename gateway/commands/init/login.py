"""The cluster's ``security`` in the configuration, from the properties file of Kafka's tools.

The properties file may hold the password itself, but a configuration never does: secrets go to
files beside the configuration, which only their owner can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from gateway.commands.client_properties import ClientSecurity
from gateway.commands.errors import UsageError
from gateway.config.connecting import InlineSecret, TlsValues

_OF_USER: Final = "password"
_OF_KEY: Final = "key-password"


class Login(NamedTuple):
    """``security`` is the block of the configuration, empty if brokers require neither TLS nor a
    login; ``secrets`` are the first line of each file to write, by its path."""

    security: Mapping[str, Any]
    secrets: Mapping[Path, str]


def login_of(security: ClientSecurity, output: Path) -> Login:
    """The block for these settings, in a configuration that is written to ``output``. Raises
    UsageError if a secret has more than a single line, because a file of a secret holds a line."""
    settings = security.settings
    if settings.protocol == "PLAINTEXT":
        return Login({}, {})
    secrets: dict[Path, str] = {}

    def kept(secret: InlineSecret, suffix: str) -> dict[str, str]:
        value = secret.read()
        if value.splitlines() != [value]:
            raise UsageError(
                f"the {suffix.replace('-', ' ')} in '{security.path}' has more than one line, which"
                " no file of a secret can hold; change it"
            )
        path = absolute(output.with_name(f"{output.stem}.{suffix}"))
        secrets[path] = value
        return {"file": str(path)}

    block: dict[str, Any] = {"protocol": settings.protocol}
    if settings.protocol in ("SSL", "SASL_SSL"):
        tls = _tls(settings.tls)
        if settings.tls.key_password is not None:
            tls["key_password"] = kept(settings.tls.key_password, _OF_KEY)
        if tls:
            block["tls"] = tls
    if settings.sasl is not None:
        block["sasl"] = {
            "mechanism": settings.sasl.mechanism,
            "username": settings.sasl.username,
            "password": kept(settings.sasl.password, _OF_USER),
        }
    return Login(block, secrets)


def absolute(path: Path) -> Path:
    """The absolute path, because a gateway may be started in another directory. Links are kept,
    because a link may be how a certificate is renewed."""
    return path.expanduser().absolute()


def _tls(tls: TlsValues) -> dict[str, Any]:
    files = {"ca": tls.ca, "certificate": tls.certificate, "key": tls.key}
    block: dict[str, Any] = {
        key: str(absolute(path)) for key, path in files.items() if path is not None
    }
    if not tls.verify_hostname:
        block["verify_hostname"] = False
    return block
