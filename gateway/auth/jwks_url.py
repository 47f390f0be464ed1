"""A key set at a URL, fetched in the background. This is a module of its own because aiohttp is
large and few listeners need it: only ``mechanisms`` imports it, and only for such a listener."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.auth.jwks import MAX_BYTES, KeySet
from gateway.brokers.lookups import LOOKUPS

log = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 10.0
"""Seconds for one whole fetch."""

MISSED_SECONDS: Final = 10.0
"""Seconds between two fetches that unknown keys cause: any client can send tokens with unknown
keys."""

FIRST_RETRY_SECONDS: Final = 0.5
MAX_RETRY_SECONDS: Final = 30.0


class UrlKeys:
    """A key set at a URL. ``key``: its configuration key, for log lines."""

    def __init__(self, url: str, refresh_seconds: float, key: str) -> None:
        self._url = url
        self._refresh_seconds = refresh_seconds
        self._key = key
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._failures = 0
        self.current: KeySet | None = None

    def missed(self) -> None:
        self._wanted.set()

    def load(self) -> None:
        """Begin to fetch; the gateway starts without waiting for the keys."""
        self._task = asyncio.get_running_loop().create_task(self._keep_fetching())

    def look_again(self) -> None:
        """Does nothing: the background task fetches."""

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _keep_fetching(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            fetched = loop.time()
            await self._fetch()
            delay = self._delay()
            try:
                async with asyncio.timeout(delay):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            else:
                await asyncio.sleep(fetched + min(MISSED_SECONDS, delay) - loop.time())
            self._wanted.clear()

    async def _fetch(self) -> None:
        """Fetch once; only a change of the outcome is logged."""
        try:
            text = await self._text()
            self.current = KeySet.parse(text)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self._failed(_reason(error))
        # A defect here must not end the background task.
        except Exception as error:
            log.exception("%s: fetching the keys failed", self._key)
            self._failed(repr(error))
        else:
            if self._failures:
                log.info("%s: the keys can be fetched again", self._key)
            self._failures = 0

    async def _text(self) -> bytes:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=_Resolver()),
                timeout=timeout,
                trust_env=True,
            ) as session,
            session.get(self._url) as response,
        ):
            if response.status != 200:
                raise ValueError(f"it answers {response.status}")
            text = await response.content.read(MAX_BYTES + 1)
            while len(text) <= MAX_BYTES and (more := await response.content.read(MAX_BYTES)):
                text += more
        if len(text) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        return text

    def _failed(self, reason: str) -> None:
        self._failures += 1
        if self._failures > 1:
            return
        if self.current is None:
            log.warning("%s: no keys yet, so nobody logs in with a token: %s", self._key, reason)
        else:
            log.warning("%s: the keys fetched before stay in use: %s", self._key, reason)

    def _delay(self) -> float:
        """Seconds to the next fetch: they double while fetches fail, with jitter."""
        delay = self._refresh_seconds
        if self._failures:
            doubled = FIRST_RETRY_SECONDS * 2.0 ** min(self._failures - 1, 16)
            delay = min(doubled, MAX_RETRY_SECONDS, delay)
        return delay * random.uniform(0.9, 1.1)  # noqa: S311 - nothing secret


class _Resolver(AbstractResolver):
    """Uses this process's DNS lookups; aiohttp's own would take the event loop's few threads."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises OSError."""
        return [
            ResolveResult(
                hostname=host,
                host=address[0],
                port=port,
                family=found_family,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for found_family, _, protocol, _, address in await LOOKUPS.addresses(host, port)
            if family in (socket.AF_UNSPEC, found_family)
        ]

    async def close(self) -> None:
        """Does nothing: the resolver holds no resources."""


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_SECONDS:g} s"
    return str(error) or type(error).__name__
