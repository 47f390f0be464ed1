"""What policies say, in full logical names, told in those of the client."""

from __future__ import annotations

from dataclasses import replace

from gateway.decision import Denied
from gateway.names import LogicalName
from gateway.views.spelling import spell_name
from gateway.views.view import View


def called(why: Denied, name: str, spelled: str) -> Denied:
    """A refusal that speaks of what has the full ``name`` as the client does."""
    return replace(why, message=why.message.replace(f"'{name}'", f"'{spelled}'"))


def shown_topic(view: View, name: LogicalName) -> str:
    """A topic that there may be, as the view spells it; its full name where it has none there."""
    return spell_name(view.settings, view.snapshot, name) or str(name)
