"""The exceptions of connections and requests to brokers: lost, unanswered, TLS, login."""

from __future__ import annotations


class BrokerError(Exception):
    """A request to a broker failed; the text is a reason that fits after ``host:port: ``."""


class NotSpoken(BrokerError):
    """The request failed before the server answered anything but ApiVersions, if even that, as with
    brokers that expect another security protocol."""


class Unanswered(NotSpoken):
    """The broker accepted the connection and closed it before it sent a byte, as brokers do at a
    limit of their connections (KIP-402, KIP-612)."""


class SecurityError(BrokerError):
    """TLS or the login failed: the configuration must be corrected, waiting does not help."""


class LoginError(SecurityError):
    """The login failed; the text says how to correct it, and holds no secret."""
