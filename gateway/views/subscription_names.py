"""Names of client metrics' subscriptions in a view, resolved as group ids are.

A subscription's full name is that of its namespace, a colon, and the rest (``team-a:latencies``).
Under a home names are relative to it; in a tree a name may begin with the mount of its volume.
"""

from __future__ import annotations

from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.names import DELIMITER
from gateway.views import absolute
from gateway.views.names_of_view import Names
from gateway.views.spelling import MAX_SPELLED


def subscription_named(view: Names, spelled: str) -> str | Denied:
    """The full name of the subscription that a client names, whether or not it exists."""
    settings, own = view.settings, spelled
    if settings.mounts is not None:
        volume, own_id = absolute.parse_id(settings, settings.mounts, spelled.encode())
        if volume != settings.volume:
            named = spelled[:MAX_SPELLED]
            why = f"Client metrics '{named}' are in the volume mounted at ':{volume}', not in this."
            return Denied(INVALID_REQUEST, why, "volume")
        own = own_id.decode()
    if settings.home:
        return f"{settings.home}{DELIMITER}{own}"
    return own.lstrip(DELIMITER)


def spell_subscription(view: Names, name: str) -> str | None:
    """A subscription's full name as this view's clients write it; None for a subscription outside
    this view, or in a namespace that is being deleted."""
    settings, namespace = view.settings, name.rpartition(DELIMITER)[0]
    if view.snapshot.missing_tier(namespace) is not None:
        return None
    if settings.home:
        inside = name.removeprefix(settings.home + DELIMITER)
        return inside if inside != name else None
    if settings.mounts is None:
        return name
    if settings.home_elsewhere:
        return None
    return absolute.spell_id(settings, settings.mounts, name.encode()).decode()
