"""The steps of a worker before it connects to a broker, tried out for ``check`` and ``serve
--dry-run``.

The authorizer is created and configured as in a worker, from the configuration as a worker gets it.
Directories are tried at the innermost directory that exists, so no file or directory is left
behind.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.config.errors import Key, Problem
from gateway.config.models import Config

_MAX_NAME: Final = 255
_MAX_PATH: Final = 4_095
"""Bytes of a file's name and of a whole path on every file system that Linux has."""

_OWN_NAME: Final = 160
"""Bytes of the longest name that the gateway gives a file, with the separator before it."""


def start_problems(config: Config) -> Iterator[Problem]:
    """Everything that would end a worker before it has sent a broker any request."""
    try:
        given = Config.from_json(config.to_json())
    except ValueError as error:
        yield Problem((), f"cannot be handed to workers: {error}; correct it")
        return
    yield from _authorizer_problems(given)
    for key, path in _directories(given):
        reason = why_not_writable(path)
        if reason is not None:
            yield Problem(key, f"'{path}' cannot be written: {reason}; correct it")


def _authorizer_problems(config: Config) -> Iterator[Problem]:
    if config.authorization is None:
        return
    # Imported only for an authorizer, whose module imports the catalog.
    from gateway.acls.authorizer import AuthorizerError, load_authorizer

    try:
        made = load_authorizer(config.authorization, lambda: None)
    except AuthorizerError as error:
        text = f"{error}; correct it, or put its module on PYTHONPATH"
        yield Problem(("authorization", "authorizer.class.name"), text)
        return
    if made is not None:
        made.close()


def _directories(config: Config) -> Iterator[tuple[Key, Path]]:
    """The directories that workers write to, with their keys."""
    if config.traffic_log.enabled and config.traffic_log.directory is not None:
        yield ("traffic_log", "directory"), config.traffic_log.directory
    if config.audit.directory is not None:
        yield ("audit", "directory"), config.audit.directory
    if config.tree is not None and config.tree.directory is not None:
        yield ("tree", "directory"), config.tree.directory


def why_not_writable(directory: Path) -> str | None:
    """Why no files can be written in a directory, which is created if it does not exist, or None if
    they can."""
    whole = directory.absolute()
    if any(len(os.fsencode(part)) > _MAX_NAME for part in whole.parts):
        return os.strerror(errno.ENAMETOOLONG).lower()
    if len(os.fsencode(whole)) > _MAX_PATH - _OWN_NAME:
        return os.strerror(errno.ENAMETOOLONG).lower()
    for place in (whole, *whole.parents):
        try:
            found = place.stat()
        except FileNotFoundError:
            if place.is_symlink():
                return f"'{place}' is a link to nothing"
            continue
        except OSError as error:
            return (error.strerror or str(error)).lower()
        if not stat.S_ISDIR(found.st_mode):
            return f"'{place}' is no directory"
        return _why_no_file(place)
    return "it is below no directory"


def _why_no_file(directory: Path) -> str | None:
    """Why a directory cannot be listed, or a file created in it, or None if both are possible."""
    try:
        with os.scandir(directory), tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as error:
        return f"'{directory}': {(error.strerror or str(error)).lower()}"
