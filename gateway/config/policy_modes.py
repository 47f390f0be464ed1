"""The modes of a block of policies, for what reads them without the configuration's models."""

from __future__ import annotations

from typing import Literal

Mode = Literal["enforce", "warn"]
