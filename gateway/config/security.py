"""The configuration's models for security: TLS, SASL, authorization, audit, secrets.

A secret is never in the configuration file: it is in another file or in the environment, is read
when it is used, and is never printed.
"""

# No `from __future__ import annotations`: pydantic reads the annotations at run time.

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from gateway.config.connecting import SecretError
from gateway.files import UnreadableFile, read_text
from gateway.identity import check_principal
from gateway.names import (
    MAX_FLAT_LENGTH,
    RESERVED_PREFIX,
    check_namespace,
    check_topic,
    is_reserved,
)

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

STANDARD_AUTHORIZER = "gateway.acls.standard.StandardAuthorizer"


AUDIT_TOPIC = f"{RESERVED_PREFIX}_audit"
TRAFFIC_TOPIC = f"{RESERVED_PREFIX}_traffic"
"""Topics for the gateway's own records. No client reaches them through a gateway."""


MAX_SECRET_BYTES = 64 * 1024
"""The most bytes of a file whose first line is a secret."""


class StrictModel(BaseModel):
    """A part of the configuration. ``yes`` is not accepted as a number, nor ``5`` as a name, so
    that YAML's guesses are reported."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _principal(value: str) -> str:
    check_principal(value)
    return value


def namespace_path(value: str) -> str:
    """Check a tier path. Raises ValueError with one sentence."""
    try:
        check_namespace(value)
    except ValueError as error:
        raise ValueError(f"{error}; write it like org:apache:kafka") from None
    return value


def _topic(like: str, use: str) -> AfterValidator:
    def check(value: str) -> str:
        try:
            check_topic(value)
        except ValueError as error:
            raise ValueError(f"{error}; write it like {like}") from None
        if is_reserved(value) and not value.startswith(like):
            raise ValueError(f"'{value}' is not for {use}; write it like {like}")
        return value

    return AfterValidator(check)


_NAME_LENGTH = Field(max_length=MAX_FLAT_LENGTH)
AuditTopicName = Annotated[str, _NAME_LENGTH, _topic(AUDIT_TOPIC, "audit events")]
TrafficTopicName = Annotated[str, _NAME_LENGTH, _topic(TRAFFIC_TOPIC, "the traffic log")]


File = Annotated[Path, Field(strict=False)]
Principal = Annotated[str, AfterValidator(_principal)]
Home = Annotated[str, AfterValidator(namespace_path)]


class Secret(StrictModel):
    """The place of a secret: ``file`` (its first line) or ``env`` (a variable's name)."""

    file: File | None = None
    env: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.file is None) is (self.env is None):
            raise ValueError("give either file or env, so that the secret itself stands elsewhere")
        return self

    def read(self) -> str:
        """The secret. It is read each time, so that it can be changed. Raises SecretError."""
        if self.env is not None:
            value = os.environ.get(self.env)
            if not value:
                raise SecretError(f"environment variable {self.env} is not set; set it")
            if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
                raise SecretError(f"environment variable {self.env} is not UTF-8 text; correct it")
            return value
        assert self.file is not None
        try:
            lines = read_text(self.file, MAX_SECRET_BYTES).splitlines()
        except UnreadableFile as error:
            raise SecretError(f"'{self.file}' cannot be read: {error}") from None
        if not lines or not lines[0]:
            raise SecretError(f"'{self.file}' is empty; its first line is to be the secret")
        return lines[0]


class ListenerTls(StrictModel):
    """TLS of a listener with SSL or SASL_SSL: its certificate, and how it trusts clients'
    certificates."""

    # A chain of certificates (PEM), and its key below (PEM).
    certificate: File
    key: File
    key_password: Secret | None = None
    client_auth: Literal["none", "requested", "required"] = "none"
    # The authorities whose client certificates are trusted (PEM).
    client_ca: File | None = None
    # Kafka's ``ssl.principal.mapping.rules``.
    principal_mapping_rules: tuple[str, ...] = ("DEFAULT",)


class OAuthBearer(StrictModel):
    """Verification of bearer tokens (JWT, RFC 7519). ``jwks`` and ``audience`` are required unless
    tokens pass through to brokers, which check them."""

    # A file, or an http(s) URL, which is read again every ``refresh_seconds``.
    jwks: Annotated[str, Field(min_length=1)] | None = None
    audience: tuple[str, ...] = ()
    issuer: str | None = None
    principal_claim: Annotated[str, Field(min_length=1)] = "sub"
    # Claims that a token must have, with this value, or this value in a list.
    required_claims: dict[str, str] = Field(default_factory=dict)
    # The difference that is allowed between our clock and the issuer's.
    clock_skew_seconds: Annotated[float, Field(ge=0, le=300)] = 30.0
    refresh_seconds: Annotated[float, Field(ge=1, le=86_400)] = 300.0


class ListenerSasl(StrictModel):
    """The mechanisms that a listener with SASL accepts, and where their credentials are."""

    mechanisms: Annotated[tuple[Mechanism, ...], Field(min_length=1)]
    # Users of PLAIN, by name; users of SCRAM are in the catalog.
    users: dict[str, Secret] = Field(default_factory=dict)
    oauthbearer: OAuthBearer | None = None
    # Seconds that a session lasts (``connections.max.reauth.ms``, KIP-368), or 0 for as long as its
    # connection, or its token.
    max_reauth_seconds: Annotated[float, Field(ge=0, le=31_536_000)] = 0.0
    # Whether the client's own SASL exchange is forwarded to the broker.
    pass_through: bool = False


class ClientTls(StrictModel):
    """TLS to the brokers. ``ca`` are the authorities to trust (PEM), if not the system's.
    ``certificate`` and ``key`` (PEM) are the gateway's own, for brokers that request a
    certificate."""

    ca: File | None = None
    certificate: File | None = None
    key: File | None = None
    key_password: Secret | None = None
    verify_hostname: bool = True


class ClientSasl(StrictModel):
    """The gateway's own identity at the brokers."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    username: Annotated[str, Field(min_length=1)]
    password: Secret


class ClusterSecurity(StrictModel):
    """Connections to a cluster's brokers: for clients, and for the gateway itself."""

    protocol: SecurityProtocol = "PLAINTEXT"
    tls: ClientTls = ClientTls()
    sasl: ClientSasl | None = None


class Unauthenticated(StrictModel):
    """Limits of connections that have not authenticated yet, on listeners with TLS or SASL."""

    # Bytes that each connection may send.
    max_bytes: Annotated[int, Field(ge=1_024, le=16 * 1024 * 1024)] = 64 * 1024
    # Seconds that each connection may take.
    max_seconds: Annotated[float, Field(ge=0.1, le=600)] = 10.0
    # Connections of a listener in that state at a time, for each worker.
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    # The part of them that a single address may have.
    max_share_per_ip: Annotated[float, Field(gt=0, le=1)] = 0.5
    # Kafka's ``connection.failed.authentication.delay.ms``.
    failure_delay_seconds: Annotated[float, Field(ge=0, le=10)] = 0.1


class IncompleteRequests(StrictModel):
    """Bytes of requests over 16 KiB that have not arrived whole, or wait to be decided, in each
    worker. A single request always has room."""

    # Of a listener.
    max_bytes: Annotated[int, Field(ge=1_048_576)] = 512 * 1024 * 1024
    # Of an address at a listener.
    max_bytes_per_ip: Annotated[int, Field(ge=1_048_576)] = 256 * 1024 * 1024


class CollectedResponses(StrictModel):
    """Bytes of responses over 256 KiB that are collected, or not taken by their clients yet, in
    each worker. Responses longer than an address may have come one at a time, beside these."""

    # Of a listener.
    max_bytes: Annotated[int, Field(ge=1_048_576)] = 256 * 1024 * 1024
    # Of an address at a listener; half of ``max_bytes`` at most counts.
    max_bytes_per_ip: Annotated[int, Field(ge=1_048_576)] = 128 * 1024 * 1024


class Authorization(StrictModel):
    """Authorization. Without this block everything is allowed.

    Further ``configs`` are a custom authorizer's own.
    """

    authorizer: Annotated[str, Field(min_length=1)] = Field(
        STANDARD_AUTHORIZER, alias="authorizer.class.name"
    )
    super_users: tuple[Principal, ...] = Field((), alias="super.users")
    allow_everyone: bool = Field(False, alias="allow.everyone.if.no.acl.found")
    configs: dict[str, Any] = Field(default_factory=dict)


class AuditSettings(StrictModel):
    """Destinations of audit events: files (JSON Lines), and a topic of the cluster (by its name
    there).

    Sizes are bytes. ``max_queued_events`` is how many events wait for a slow disk or broker, for
    each worker.
    """

    directory: File | None = None
    topic: AuditTopicName | None = None
    max_file_bytes: Annotated[int, Field(ge=4_096)] = 64 * 1024 * 1024
    max_files: Annotated[int, Field(ge=1)] = 24
    max_queued_events: Annotated[int, Field(ge=100)] = 50_000


class PrincipalSettings(StrictModel):
    """Settings of a principal besides its credentials. ``home``: see Listener.home."""

    home: Home
