"""Errors in a configuration: a line each, with the next step."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Key: TypeAlias = tuple[str | int, ...]
"""The path of a value: names of keys and indices of list items, outermost first."""

ANY_NAME: Final = "*"
"""In the keys of a model: a name that people choose, such as that of a namespace."""

_MAX_SHOWN = 60
_OF_A_NAME = "[key]"  # what pydantic puts behind a name that is rejected itself


class Problem(NamedTuple):
    """One mistake. ``text`` is ``what is wrong; what to do``, ``line`` 0 if it is not known."""

    key: Key
    text: str
    line: int = 0


class ConfigError(Exception):
    """A file that is rejected. Its text has a line for each problem, in the file's order."""

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        super().__init__("\n".join(map(self._told, self.problems)))

    def _told(self, problem: Problem) -> str:
        where = f"{self.path}:{problem.line}" if problem.line else str(self.path)
        key = key_text(problem.key)
        return f"{where}: {key}: {problem.text}" if key else f"{where}: {problem.text}"


def key_text(key: Key) -> str:
    """A key as people write it: ``listeners[0].port``."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Everything that pydantic found, in the words of this project."""
    known = dict(_keys_of(model, ()))
    return [
        Problem(_written(details["loc"]), _sentence(details, known))
        for details in error.errors(include_url=False)
        if not _follows(details)
    ]


def _written(key: Key) -> Key:
    """The key as it stands in the file."""
    return key[:-1] if key and key[-1] == _OF_A_NAME else key


def _follows(details: ErrorDetails) -> bool:
    """Whether the problem only follows from another one, which is reported anyway.

    A default may depend on a value that was rejected, and a list count only what was not rejected.
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
    # Of a secret that was written into the file nothing is shown.
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
    "too_short": lambda _, __: "is an empty list; add an item",
    "string_too_short": lambda _, __: "is empty; give it or leave it out",
    "string_too_long": lambda _, ctx: f"has over {ctx['max_length']} characters; shorten it",
}


def shown(value: object) -> str:
    """A value as it stands in YAML, cut where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, tuple):
        return "a list"
    text = str(value) if isinstance(value, int | float) else f"'{value}'"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _unknown_key(key: Key, known: dict[Key, list[str]]) -> str:
    *path, last = key
    name = str(last)
    here = _keys_at(tuple(part for part in path if isinstance(part, str)), known)
    near = nearest(name, here)
    if near is not None:
        return f"unknown key '{name}'; did you mean '{near}'?"
    elsewhere = [key_text((*where, name)) for where, names in known.items() if name in names]
    if elsewhere:
        return f"unknown key '{name}' here; did you mean '{elsewhere[0]}'?"
    return f"unknown key '{name}'; the keys here are {', '.join(here)}"


def _keys_at(path: Key, known: dict[Key, list[str]]) -> list[str]:
    """The keys that the mapping at a place may have."""
    for where, names in known.items():
        pairs = zip(where, path, strict=False)
        if len(where) == len(path) and all(part in (ANY_NAME, at) for part, at in pairs):
            return names
    return []


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known key that ``name`` was most likely meant to be."""
    plain = {_plain(key): key for key in known}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _keys_of(model: type[BaseModel], path: Key) -> Iterator[tuple[Key, list[str]]]:
    """The keys that each mapping of the configuration may have; list indices are left out."""
    yield path, [field.alias or name for name, field in model.model_fields.items()]
    for name, field in model.model_fields.items():
        for inner, below in _models_in(field.annotation, ()):
            yield from _keys_of(inner, (*path, field.alias or name, *below))


def _models_in(annotation: object, below: Key) -> Iterator[tuple[type[BaseModel], Key]]:
    """The models of a field, and what stands between it and their keys."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, below
    inside = (*below, ANY_NAME) if get_origin(annotation) is dict else below
    for inner in get_args(annotation):
        yield from _models_in(inner, inside)
