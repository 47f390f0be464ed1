"""Generates the module of walkers that replaces ``protocol/prebuilt.py`` in a compiled build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gateway.apis.table import APIS
from gateway.exchanges.formats import NUMBERED_FETCH_KINDS, REQUEST_KINDS, response_kinds
from protocol.walkers import digest, segments_source, walker_source

_APIS: Final = ("Produce", "Fetch")
"""The APIs whose walkers are compiled: they carry the load."""

_HEAD: Final = '''\
"""Walkers compiled ahead of time, by the digest of their source. Generated."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import (
    compact,
    compact_text,
    nullable_compact,
    nullable_compact_text,
    read_uvarint,
    reject_length,
    require_utf8,
    skip_tags,
)

Span = tuple[int, int, int, Any]
Function = Callable[[bytes, int, int, list[Span]], int]
'''

_FUTURE: Final = "from __future__ import annotations\n"
_OWN_NAME: Final = re.compile(r"^def (\w+)|\b(EARLY|unpack_\d+)\b", re.MULTILINE)


def prebuilt_source() -> str:
    """The module's text: every source once, with a number appended to its names, so that they are
    unique."""
    parts = [_HEAD]
    table = ["PREBUILT: Final[dict[str, dict[str, Function]]] = {"]
    for number, source in enumerate(dict.fromkeys(prebuilt_sources())):
        parts.append(_numbered(source, number))
        names = re.findall(r"^def (\w+)", source, re.MULTILINE)
        functions = ", ".join(f'"{name}": {name}_{number}' for name in names)
        table.append(f'    "{digest(source)}": {{{functions}}},')
    return "\n\n".join([*parts, "\n".join([*table, "}"])]) + "\n"


def _numbered(source: str, number: int) -> str:
    return _OWN_NAME.sub(rf"\g<0>_{number}", source.removeprefix(_FUTURE))


def prebuilt_sources() -> Iterator[str]:
    """The sources that the plans of these APIs use, at every decided version; some repeatedly."""
    for api in APIS.values():
        if api.name not in _APIS:
            continue
        request, response = f"{api.name}Request", f"{api.name}Response"
        kinds = response_kinds(api)
        for version in range(api.first, api.last + 1):
            yield walker_source(request, version, REQUEST_KINDS, whole=True)
            yield walker_source(response, version, kinds)
            if api.name == "Produce":
                yield segments_source(request, version, REQUEST_KINDS)
            else:
                yield segments_source(response, version, kinds)
                yield walker_source(response, version, NUMBERED_FETCH_KINDS)
                yield segments_source(response, version, NUMBERED_FETCH_KINDS)
