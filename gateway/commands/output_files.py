"""Files that a command writes: one that is there is replaced with ``--force`` only."""

from __future__ import annotations

from pathlib import Path

from gateway.commands.errors import CommandError


def check_free(path: Path | None, flag: str, *, force: bool) -> None:
    """Raise CommandError if ``flag`` names a file whose content would be lost. A pipe or a device,
    as ``/dev/stdout`` is, has none. Without a path nothing is checked."""
    if path is not None and path.is_file() and not force:
        raise CommandError(
            f"'{path}' is there already, and was not touched; give another {flag}, or --force to"
            " replace it"
        )


def write_file(path: Path, flag: str, text: str, *, force: bool, owner_alone: bool = False) -> None:
    """Write a file; if it is ``owner_alone``'s, nobody but its owner can read it. Raises
    CommandError where :func:`check_free` does, and if it cannot be written."""
    check_free(path, flag, force=force)
    try:
        if owner_alone:
            path.touch(mode=0o600)
            path.chmod(0o600)  # if it was there already
        path.write_text(text)
    except OSError as error:
        raise CommandError(
            f"{path}: cannot be written: {error.strerror}; choose another file"
        ) from None
