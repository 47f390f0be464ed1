"""The modes of a block of policies, for code that must not load the configuration's models."""

from __future__ import annotations

from typing import Literal

Mode = Literal["enforce", "warn"]
