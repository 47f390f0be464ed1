"""The mounts of the two clusters of these tests in their tree."""

from typing import Final

LA: Final = "la:tracking"
NY: Final = "ny:tracking"
