"""The classes that ``create.topic.policy.class.name`` names."""

from __future__ import annotations

import importlib
import inspect
from importlib.metadata import entry_points
from typing import Final

from gateway.foreign_text import raised_text
from gateway.policies.interface import CreateTopicPolicy

GROUP: Final = "kafka_gateway.create_topic_policies"
"""The group of entry points in which packages offer their policies."""

KEY: Final = "create.topic.policy.class.name"


class PolicyError(Exception):
    """There is no such policy, or it does not take its configuration; the text is a sentence that
    begins with the key, or with the class."""


def load_class(name: str) -> type[CreateTopicPolicy]:
    """The class of a name: ``module:Class``, an entry point of :data:`GROUP`, or ``module.Class``.

    Importing a module runs it, for as long as it likes. Raises PolicyError with one sentence.
    """
    found = _loaded(name)
    if not (isinstance(found, type) and issubclass(found, CreateTopicPolicy)):
        raise PolicyError(
            f"'{name}' is no class that extends gateway.policies.interface.CreateTopicPolicy"
        )
    if inspect.isabstract(found):
        raise PolicyError(f"'{name}' has no validate(request_metadata); write it")
    for method in (found.configure, found.validate, found.close):
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            raise PolicyError(
                f"'{name}' has an async {method.__name__}(); write it as a plain method,"
                " which has a thread of its own"
            )
    return found


def _loaded(name: str) -> object:
    module, colon, attribute = name.partition(":")
    if not colon:
        offered = entry_points(group=GROUP, name=name)
        if offered:
            entry = next(iter(offered))
            module, attribute = entry.module, entry.attr
        else:
            module, _, attribute = name.rpartition(".")
    if not module or not attribute:
        raise PolicyError(
            f"'{name}' is neither module:Class nor an entry point of the group {GROUP}"
        )
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    # Whatever a foreign module raises, SystemExit too, is about that module and not about us.
    except BaseException as error:  # noqa: BLE001
        raise PolicyError(f"'{name}' cannot be loaded: {raised_text(error)}") from None
    return found
