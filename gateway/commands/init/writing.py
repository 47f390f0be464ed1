"""Writes the configuration and its secrets: whole or not at all, readable only by their owner."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gateway.commands.errors import CommandError
from gateway.config.errors import ConfigError
from gateway.config_file.loading import load_config

_MODE = 0o600


def check_free(paths: Iterable[Path], *, force: bool) -> None:
    """Raises CommandError if a path exists and would be replaced without ``force``, or if no
    file can be written to it."""
    for path in paths:
        if path.is_dir():
            raise CommandError(f"'{path}' is a directory; give a file: --output")
        if os.path.lexists(path) and not force:
            raise CommandError(
                f"'{path}' is there already, and was not touched; give another --output, or --force"
                " to replace it"
            )
        if not path.absolute().parent.is_dir():
            raise CommandError(f"'{path}': its directory does not exist; make it, or give another")


def write_all(output: Path, text: str, secrets: Mapping[Path, str], *, force: bool) -> None:
    """Write the secrets, and then the configuration, once it loads with them.

    Raises CommandError if a file cannot be written, or if the configuration would not be valid.
    Then the files that were there before are unchanged, except for secrets.
    """
    written: list[Path] = []
    try:
        for path, secret in secrets.items():
            _write(path, f"{secret}\n", force=force)
            written.append(path)
        _write(output, text, force=force, valid=True)
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise


def _write(path: Path, text: str, *, force: bool, valid: bool = False) -> None:
    temporary: Path | None = None
    try:
        # Only its owner can read a file of mkstemp.
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_MODE)
        if valid:
            _check_valid(temporary, path)
        if force:
            temporary.replace(path)
        else:
            _place(temporary, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CommandError(f"'{path}' cannot be written: {reason}; give another --output") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _place(temporary: Path, path: Path) -> None:
    """Give a file its name, unless a file has that name by now. Raises OSError, CommandError."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        check_free([path], force=False)
        raise
    except OSError:  # a file system without hard links
        check_free([path], force=False)
        temporary.replace(path)


def _check_valid(temporary: Path, path: Path) -> None:
    try:
        load_config(temporary)
    except ConfigError as error:
        text = str(error).replace(str(temporary), str(path))
        raise CommandError(f"{text}\nnothing was written") from None
