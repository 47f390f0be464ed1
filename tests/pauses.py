"""Work in slices that pauses at every pause point."""

from __future__ import annotations

import pytest


def pause_everywhere(patch: pytest.MonkeyPatch) -> None:
    """Let each slice of work end at its first pause point."""
    patch.setattr("gateway.slices.FIRST_SECONDS", 0.0)
    patch.setattr("gateway.slices.SLICE_SECONDS", 0.0)
