"""The authorizer that a configuration names (``authorizer.class.name``)."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from gateway.acls.authorizer import Authorizer
from gateway.config.security import Authorization
from gateway.foreign_text import MAX_SHOWN, shown_text


class AuthorizerError(Exception):
    """There is no such authorizer, or it does not take its configuration; the text says why."""


def load_authorizer(
    settings: Authorization | None, changed: Callable[[], None]
) -> Authorizer | None:
    """Make and configure the authorizer; None without an ``authorization:`` block.

    ``changed`` is what it calls when its answers no longer hold. Raises AuthorizerError.
    """
    if settings is None:
        return None
    dotted = settings.authorizer
    module, _, name = dotted.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        why = shown_text(error, MAX_SHOWN)
        raise AuthorizerError(f"authorizer.class.name '{dotted}' cannot be made: {why}") from None
    if not isinstance(made, Authorizer):
        raise AuthorizerError(
            f"authorizer.class.name '{dotted}' is no gateway.acls.authorizer.Authorizer"
        )
    try:
        made.configure(
            {
                **settings.configs,
                "super.users": settings.super_users,
                "allow.everyone.if.no.acl.found": settings.allow_everyone,
            },
            changed,
        )
    except ValueError as error:
        raise AuthorizerError(f"authorization: {shown_text(error, MAX_SHOWN)}") from None
    return made
