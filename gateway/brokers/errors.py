"""Failures of the gateway's own requests to brokers."""

from __future__ import annotations


class BrokerError(Exception):
    """A broker could not be asked; the text is a reason that fits after ``host:port: ``."""


class SecurityError(BrokerError):
    """TLS or the login failed: the configuration is to be corrected, waiting does not help."""


class LoginError(SecurityError):
    """The login failed; the text says what to do, and holds no secret."""
