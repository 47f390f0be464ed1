"""Problems that pydantic finds in a configuration, in the words of this project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gateway.config.errors import MAX_PROBLEMS, Key, Problem, key_text, nearest, shown

_ANY_NAME: Final = "*"
"""Stands in the keys of a model for a name that operators choose, such as a namespace's."""

_OF_A_NAME = "[key]"  # pydantic puts this behind a name that is rejected itself


_REMOVED: Final[dict[Key, str]] = {
    ("listeners", "mirrors"): (
        "was removed; take it out: A.team-a:orders is the topic orders of a namespace A.team-a now,"
        " so create that and move the copies there (CHANGELOG.md; docs/mirrormaker.md)"
    ),
    ("listeners", "mirror_separator"): "was removed with mirrors; take it out",
}
"""Keys that configurations had in earlier versions, without indices of lists, and the step to
take."""


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """The problems that pydantic found, in the words of this project, up to
    :data:`MAX_PROBLEMS`."""
    known = dict(_keys_of(model, ()))
    told = (details for details in error.errors(include_url=False) if not _follows(details))
    return [
        Problem(_written(details["loc"]), _sentence(details, known))
        # Another one is kept, so that the report says that there are more.
        for details in islice(told, MAX_PROBLEMS + 1)
    ]


def _written(key: Key) -> Key:
    """The key as it is written in the file."""
    return key[:-1] if key and key[-1] == _OF_A_NAME else key


def _follows(details: ErrorDetails) -> bool:
    """Whether the problem only follows from another problem, which is reported anyway.

    A default may depend on a value that was rejected, and the size of a list counts only items that
    were not rejected.
    """
    kind = details["type"]
    return kind == "default_factory_not_called" or (kind == "too_short" and bool(details["input"]))


def _sentence(details: ErrorDetails, known: dict[Key, list[str]]) -> str:
    kind = details["type"]
    if kind == "value_error":
        return str(details["ctx"]["error"])
    if kind == "extra_forbidden":
        return _unknown_key(details["loc"], known)
    told = _SENTENCES.get(kind)
    if told is not None:
        return told(shown(details["input"]), details.get("ctx", {}))
    return f"{details['msg'][:1].lower()}{details['msg'][1:]}; correct it"


_SENTENCES: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "missing": lambda _, __: "is missing; add it",
    "string_type": lambda value, _: f"must be text, not {value}; put it in quotes",
    "int_type": lambda value, _: f"must be a whole number, not {value}; write it without quotes",
    "float_type": lambda value, _: f"must be a number, not {value}; write it without quotes",
    "bool_type": lambda value, _: f"must be true or false, not {value}; write one of them",
    "path_type": lambda value, _: f"must be a path, not {value}; put it in quotes",
    "tuple_type": lambda value, _: f"must be a list, not {value}; write it like [a, b]",
    "dict_type": lambda value, _: f"must be keys and values, not {value}; indent them below it",
    # If a secret was written into the file, its value is not shown.
    "model_type": lambda value, ctx: (
        "must be the file or env that holds the secret, not the secret; write it like {env: NAME}"
        if ctx.get("class_name") == "Secret"
        else f"must hold keys of its own, not {value}; indent them below it or remove it"
    ),
    "literal_error": lambda value, ctx: f"must be {ctx['expected']}, not {value}; choose one",
    "greater_than": lambda value, ctx: f"must be more than {ctx['gt']:g}, not {value}; raise it",
    "greater_than_equal": lambda value, ctx: (
        f"must be at least {ctx['ge']:g}, not {value}; raise it"
    ),
    "less_than_equal": lambda value, ctx: f"must be at most {ctx['le']:,}, not {value}; lower it",
    "too_long": lambda _, ctx: f"holds more than {ctx['max_length']:,}; leave some out",
    "too_short": lambda _, __: "is an empty list; add an item",
    "string_too_short": lambda _, __: "is empty; give it or leave it out",
    "string_too_long": lambda _, ctx: f"has over {ctx['max_length']} characters; shorten it",
}


def _unknown_key(key: Key, known: dict[Key, list[str]]) -> str:
    *path, last = key
    name = str(last)
    where = tuple(part for part in path if isinstance(part, str))
    removed = _REMOVED.get((*where, name))
    if removed is not None:
        return removed
    here = _keys_at(where, known)
    near = nearest(name, here)
    if near is not None:
        return f"unknown key '{name}'; did you mean '{near}'?"
    elsewhere = [key_text((*place, name)) for place, names in known.items() if name in names]
    if elsewhere:
        return f"unknown key '{name}' here; did you mean '{elsewhere[0]}'?"
    return f"unknown key '{name}'; the keys here are {', '.join(here)}"


def _keys_at(path: Key, known: dict[Key, list[str]]) -> list[str]:
    """The keys that the mapping at ``path`` may have."""
    for where, names in known.items():
        pairs = zip(where, path, strict=False)
        if len(where) == len(path) and all(part in (_ANY_NAME, at) for part, at in pairs):
            return names
    return []


def _keys_of(model: type[BaseModel], path: Key) -> Iterator[tuple[Key, list[str]]]:
    """The keys that each mapping of the configuration may have; list indices are left out."""
    yield path, [field.alias or name for name, field in model.model_fields.items()]
    for name, field in model.model_fields.items():
        for inner, below in _models_in(field.annotation, ()):
            yield from _keys_of(inner, (*path, field.alias or name, *below))


def _models_in(annotation: object, below: Key) -> Iterator[tuple[type[BaseModel], Key]]:
    """The models of a field, each with the keys between the field and the model's keys."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, below
    inside = (*below, _ANY_NAME) if get_origin(annotation) is dict else below
    for inner in get_args(annotation):
        yield from _models_in(inner, inside)
