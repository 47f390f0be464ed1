"""Files that a command writes: if a file exists, it is replaced only with ``--force``."""

from __future__ import annotations

from pathlib import Path

from gateway.commands.errors import CommandError


def check_free(path: Path | None, flag: str, *, force: bool) -> None:
    """Raise CommandError if ``flag`` names a file whose content would be lost. A pipe or a device,
    such as ``/dev/stdout``, has no content to lose. Without a path nothing is checked."""
    if path is not None and path.is_file() and not force:
        raise CommandError(
            f"'{path}' is there already, and was not touched; give another {flag}, or --force to"
            " replace it"
        )


def write_file(path: Path, flag: str, text: str, *, force: bool, owner_alone: bool = False) -> None:
    """Write a file; if ``owner_alone``, only its owner can read it. Raises CommandError if
    :func:`check_free` does, or if the file cannot be written."""
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
