"""Failures of the gateway's own requests to brokers."""

from __future__ import annotations


class BrokerError(Exception):
    """A broker could not be asked; the text is a reason that fits after ``host:port: ``."""


class NotSpoken(BrokerError):
    """Nothing was answered but ApiVersions: so do brokers that speak another protocol there."""


class Unanswered(NotSpoken):
    """The broker accepted the connection and closed it before it sent a byte: so do brokers at a
    limit of their connections (KIP-402, KIP-612)."""


class SecurityError(BrokerError):
    """TLS or the login failed: the configuration is to be corrected, waiting does not help."""


class LoginError(SecurityError):
    """The login failed; the text says what to do, and holds no secret."""
