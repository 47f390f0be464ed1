"""The configuration's models for security: TLS, SASL, authorization, audit; secrets.

A secret is never in the configuration file itself: it is in another file or in the environment, is
read when it is used, and is never printed.
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
"""Topics for the gateway's own records, which no client reaches through a gateway."""


MAX_SECRET_BYTES = 64 * 1024
"""Bytes of the largest file that a secret is the first line of."""


class StrictModel(BaseModel):
    """A part of the configuration. ``yes`` is no number and ``5`` no name, so that YAML's guesses
    surface."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _principal(value: str) -> str:
    check_principal(value)
    return value


def namespace_path(value: str) -> str:
    """A tier path. Raises ValueError with one sentence."""
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
        """The secret, read anew each time, so that it can be changed. Raises SecretError."""
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
    """TLS of a listener with SSL or SASL_SSL: its certificate, and those of clients.

    ``certificate`` is a PEM chain, ``key`` its PEM key. ``client_ca``: PEM of the authorities
    whose client certificates are trusted. ``principal_mapping_rules`` are Kafka's
    ``ssl.principal.mapping.rules``.
    """

    certificate: File
    key: File
    key_password: Secret | None = None
    client_auth: Literal["none", "requested", "required"] = "none"
    client_ca: File | None = None
    principal_mapping_rules: tuple[str, ...] = ("DEFAULT",)


class OAuthBearer(StrictModel):
    """Verification of bearer tokens (JWT, RFC 7519). ``jwks`` is a file or an http(s) URL; it and
    ``audience`` are needed, but where tokens pass through to brokers, which check them.

    ``clock_skew_seconds`` is allowed between our clock and the issuer's. ``required_claims`` must
    be there, with that value, or one of a list's. URLs are read again every ``refresh_seconds``.
    """

    jwks: Annotated[str, Field(min_length=1)] | None = None
    audience: tuple[str, ...] = ()
    issuer: str | None = None
    principal_claim: Annotated[str, Field(min_length=1)] = "sub"
    required_claims: dict[str, str] = Field(default_factory=dict)
    clock_skew_seconds: Annotated[float, Field(ge=0, le=300)] = 30.0
    refresh_seconds: Annotated[float, Field(ge=1, le=86_400)] = 300.0


class ListenerSasl(StrictModel):
    """The mechanisms that a listener with SASL accepts, and where their credentials are.

    ``users`` are PLAIN's, name to secret; SCRAM's are in the catalog. ``max_reauth_seconds``
    (``connections.max.reauth.ms``, KIP-368): how long a session lasts; 0: as long as its
    connection, or its token. ``pass_through``: the client's own exchange goes to the broker.
    """

    mechanisms: Annotated[tuple[Mechanism, ...], Field(min_length=1)]
    users: dict[str, Secret] = Field(default_factory=dict)
    oauthbearer: OAuthBearer | None = None
    max_reauth_seconds: Annotated[float, Field(ge=0, le=31_536_000)] = 0.0
    pass_through: bool = False


class ClientTls(StrictModel):
    """TLS to the brokers. ``ca``: PEM of the authorities to trust; None: the system's.
    ``certificate`` and ``key`` (PEM): the gateway's own, for brokers that request one."""

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
    """Limits of connections that have not authenticated yet, on listeners with TLS or SASL.

    ``max_bytes`` each sends, ``max_seconds`` each takes, ``max_connections`` of a listener are in
    that state at a time, for each worker, and so large a share of them is one address's at most;
    ``failure_delay_seconds`` is ``connection.failed.authentication.delay.ms``.
    """

    max_bytes: Annotated[int, Field(ge=1_024, le=16 * 1024 * 1024)] = 64 * 1024
    max_seconds: Annotated[float, Field(ge=0.1, le=600)] = 10.0
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    max_share_per_ip: Annotated[float, Field(gt=0, le=1)] = 0.5
    failure_delay_seconds: Annotated[float, Field(ge=0, le=10)] = 0.1


class IncompleteRequests(StrictModel):
    """Bytes of requests over 16 KiB that have not arrived whole, or wait to be decided, in each
    worker: ``max_bytes`` of a listener, ``max_bytes_per_ip`` of one address at it. One request
    always has room."""

    max_bytes: Annotated[int, Field(ge=1_048_576)] = 512 * 1024 * 1024
    max_bytes_per_ip: Annotated[int, Field(ge=1_048_576)] = 256 * 1024 * 1024


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
    """Destinations of audit events: files (JSON Lines), and a topic of the cluster, by its name
    there.

    Sizes are bytes; ``max_queued_events`` wait for a slow disk or broker, for each worker.
    """

    directory: File | None = None
    topic: AuditTopicName | None = None
    max_file_bytes: Annotated[int, Field(ge=4_096)] = 64 * 1024 * 1024
    max_files: Annotated[int, Field(ge=1)] = 24
    max_queued_events: Annotated[int, Field(ge=100)] = 50_000


class PrincipalSettings(StrictModel):
    """Settings of a principal besides its credentials. ``home``: see Listener.home."""

    home: Home
