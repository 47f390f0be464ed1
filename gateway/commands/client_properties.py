"""``--command-config``: the login of a command, in the properties file that Kafka's own tools take.

Java's names and librdkafka's are known. If a property of security is unknown, it is rejected,
because it would have no effect. All others, such as ``client.id``, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gateway.brokers.security import BrokerSecurity
from gateway.commands.errors import UsageError
from gateway.config.connecting import InlineSecret, SaslValues, SecurityValues, TlsValues
from gateway.files import UnreadableFile, read_input, read_text

MAX_FILE_BYTES: Final = 1024 * 1024

KEY: Final = "COMMAND_CONFIG"
"""Stands for the file in the error texts of :class:`BrokerSecurity`."""

_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PEM_TYPES: Final = ("ssl.truststore.type", "ssl.keystore.type")
KNOWN: Final = frozenset(
    [
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.jaas.config",
        "sasl.username",
        "sasl.password",
        "ssl.truststore.location",
        "ssl.ca.location",
        "ssl.keystore.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
        "ssl.truststore.type",
        "ssl.keystore.type",
    ]
)
"""The properties of security that are known."""
_JAAS: Final = re.compile(r"\s*\S*\.(Plain|Scram)LoginModule\s+required\s+(.*?);?\s*\Z", re.DOTALL)
_JAAS_OPTION: Final = re.compile(
    r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(\S+))\s*"
)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A key below COMMAND_CONFIG in an error of BrokerSecurity -> its word in the file.
_PLACES: Final[Mapping[str, str]] = {
    ".protocol": "security.protocol",
    ".sasl.mechanism": "sasl.mechanism",
    ".sasl.username": "the user name",
    ".sasl.password": "the password",
    ".tls.ca": "ssl.truststore.location",
    ".tls.verify_hostname": "ssl.endpoint.identification.algorithm",
}


class ClientSecurity(BrokerSecurity):
    """The connection settings of the file ``path``. Without a path: plaintext, without a login.

    ``settings`` may hold the secrets themselves, because the file does; a configuration's never do.
    """

    def __init__(self, path: Path | None) -> None:
        """Raises UsageError if the file cannot be read, or is not valid."""
        settings = SecurityValues() if path is None else _settings(path)
        super().__init__(settings, KEY)
        self.settings = settings
        self.path = path

    def with_properties(self, reason: str) -> str:
        """The error text, with the names of the file's properties instead of
        the configuration's keys."""
        file = self.path or "a file: --command-config"
        return re.sub(
            re.escape(KEY) + r"((?:\.[a-z_]+)*)",
            lambda found: f"{_PLACES.get(found[1], 'the security settings')} in {file}",
            reason,
        )


def read_properties(text: str) -> dict[str, str]:
    """Parse a Java properties file. If a key is there twice, its last value holds."""
    found: dict[str, str] = {}
    for line in _lines(text):
        parts = re.match(r"((?:[^\\=:\s]|\\.)*)\s*[=:]?\s*(.*)\Z", line, re.DOTALL)
        assert parts is not None
        found[_unescaped(parts[1])] = _unescaped(parts[2])
    return found


def _lines(text: str) -> Iterator[str]:
    """Logical lines: continuations are joined, comments are left out."""
    begun = ""
    for line in text.splitlines():
        stripped = line.lstrip()
        if not begun and (not stripped or stripped[0] in "#!"):
            continue
        begun += stripped
        slashes = len(begun) - len(begun.rstrip("\\"))
        if slashes % 2:
            begun = begun[:-1]
            continue
        yield begun
        begun = ""
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2]),
        text,
        flags=re.DOTALL,
    )


def _settings(path: Path) -> SecurityValues:
    """Raises UsageError."""
    try:
        values = read_properties(read_text(path, MAX_FILE_BYTES, read_input))
    except UnreadableFile as error:
        raise UsageError(f"--command-config '{path}' cannot be read: {error}") from None
    for key in values:
        if key.startswith(("sasl.", "ssl.", "security.")) and key not in KNOWN:
            raise UsageError(
                f"'{path}': '{key}' is not known here; there are {', '.join(sorted(KNOWN))}"
            )
    protocol = values.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise UsageError(f"'{path}': security.protocol is one of {', '.join(_PROTOCOLS)}")
    for key in _PEM_TYPES:
        if values.get(key, "PEM").strip().upper() != "PEM":
            raise UsageError(f"'{path}': {key} is PEM here; export the certificates as PEM files")
    certificate = values.get("ssl.keystore.location") or values.get("ssl.certificate.location")
    key_password = values.get("ssl.key.password")
    algorithm = values.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    tls = TlsValues(
        ca=_file(values.get("ssl.truststore.location") or values.get("ssl.ca.location")),
        certificate=_file(certificate),
        key=_file(values.get("ssl.key.location") or certificate),
        key_password=InlineSecret(key_password) if key_password else None,
        verify_hostname=algorithm not in ("", "none"),
    )
    sasl = _sasl(path, values) if protocol.startswith("SASL_") else None
    return SecurityValues(protocol=protocol, tls=tls, sasl=sasl)


def _sasl(path: Path, values: Mapping[str, str]) -> SaslValues:
    mechanism = values.get("sasl.mechanism") or values.get("sasl.mechanisms") or ""
    if mechanism not in _MECHANISMS:
        raise UsageError(f"'{path}': sasl.mechanism is one of {', '.join(_MECHANISMS)}")
    user, password = values.get("sasl.username"), values.get("sasl.password")
    if "sasl.jaas.config" in values:
        options = _jaas(path, mechanism, values["sasl.jaas.config"])
        user, password = options.get("username"), options.get("password")
    if not user or not password:
        raise UsageError(
            f"'{path}': give the user in sasl.jaas.config, or in sasl.username and sasl.password"
        )
    secret = InlineSecret(password)
    return SaslValues(mechanism=mechanism, username=user, password=secret)


def _jaas(path: Path, mechanism: str, text: str) -> dict[str, str]:
    """The options of Kafka's own login modules."""
    module = _JAAS.match(text)
    if module is None or (module[1] == "Plain") is not (mechanism == "PLAIN"):
        wanted = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        raise UsageError(
            f"'{path}': sasl.jaas.config is like 'org.apache.kafka.common.security.{wanted}"
            ' required username="alice" password="...";\''
        )
    found: dict[str, str] = {}
    for name, double, single, bare in _JAAS_OPTION.findall(module[2]):
        found[name] = re.sub(r"\\(.)", r"\1", double or single) or bare
    return found


def _file(name: str | None) -> Path | None:
    return Path(name) if name else None
