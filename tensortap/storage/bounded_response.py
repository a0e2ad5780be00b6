"""HTTP responses whose bodies are read only up to the requested size, because they may never end.

Imports aiohttp, which is optional: imported by `uri` for addresses of web servers only.
"""

from __future__ import annotations

import re
from typing import Any

import aiohttp

from tensortap.core.errors import UnexpectedResponseError

MAX_LIST = 64 << 20  # bytes of the page that lists a folder
SILENCE = 30.0  # s without a byte, after which no more is waited for
_WHOLE = 300.0  # s for an answer
_RANGE = re.compile(r"bytes=(\d+)-(\d+)\Z")


class BoundedResponse(aiohttp.ClientResponse):
    """Raises UnexpectedResponseError for more bytes than the requested range, or than `MAX_LIST`."""

    async def read(self) -> bytes:
        if self._body is None:
            try:
                self._body = await self._bounded(_limit(self.request_info.headers.get("Range", "")))
            except BaseException:
                self.close()  # the rest is not waited for
                raise
        return await super().read()

    async def _bounded(self, limit: int) -> bytes:
        parts, size = [], 0
        async for part in self.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise UnexpectedResponseError("the response is longer than the requested range")
        return b"".join(parts)


def client_options() -> dict[str, Any]:
    """Arguments of `aiohttp.ClientSession`."""
    timeout = aiohttp.ClientTimeout(total=_WHOLE, sock_connect=SILENCE, sock_read=SILENCE)
    return {"response_class": BoundedResponse, "timeout": timeout}


def _limit(asked: str) -> int:
    found = _RANGE.match(asked)
    return MAX_LIST if found is None else int(found[2]) - int(found[1]) + 1
