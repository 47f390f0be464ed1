"""Where the two clusters of these tests stand in their tree."""

from typing import Final

LA: Final = "la:tracking"
NY: Final = "ny:tracking"
