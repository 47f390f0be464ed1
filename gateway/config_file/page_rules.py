"""Rules for the page on the HTTP port, which is never open to other machines by accident."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.config.connecting import SecretError
from gateway.config.errors import Problem
from gateway.config.models import MetricsSettings, PageAuthSettings
from gateway.config.values import is_loopback
from gateway.page.passwords import PasswordsError, read_passwords

MIN_TOKEN: Final = 16
"""The fewest characters of a bearer token: a shorter token can be guessed."""


def page_problems(metrics: MetricsSettings | None) -> Iterator[Problem]:
    """Every mistake in ``metrics.page`` and ``metrics.auth``, and in the files that ``auth``
    names."""
    if metrics is None:
        return
    if metrics.auth is not None:
        if metrics.page is False:
            text = "means nothing while page is false; make that true, or remove it"
            yield Problem(("metrics", "auth"), text)
        yield from _auth_problems(metrics.auth)
    elif metrics.page and not is_loopback(metrics.host):
        text = (
            f"would show the page to all who reach '{metrics.host}'; give metrics.auth"
            " (kafka-gateway page-password makes a password), or make metrics.host 127.0.0.1"
        )
        yield Problem(("metrics", "page"), text)


def _auth_problems(auth: PageAuthSettings) -> Iterator[Problem]:
    where = "metrics", "auth"
    if auth.passwords is None and auth.token is None:
        yield Problem(where, "has neither passwords nor token; give one")
    if auth.passwords is not None:
        try:
            read_passwords(auth.passwords)
        except PasswordsError as error:
            yield Problem((*where, "passwords"), str(error))
    if auth.token is not None:
        try:
            token = auth.token.read()
        except SecretError as error:
            yield Problem((*where, "token"), f"{error}; correct it")
            return
        if len(token) < MIN_TOKEN:
            text = (
                f"has {len(token)} characters, so that it can be guessed; make one of {MIN_TOKEN}"
            )
            yield Problem((*where, "token"), f"{text} or more: openssl rand -hex 32")
