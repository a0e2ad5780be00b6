"""Creates responses: JSON or columns, with an ETag, 304 if unchanged, gzip if it helps."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flask import Flask, Response, request

from .columns_format import CONTENT_TYPE, Column, write_columns
from .json_encoding import to_json

# In the environ: a 304 has no Content-Type, and TensorBoard needs one.
CONTENT_TYPE_KEY = "tensortap.content_type"
GZIP_FROM = 4096  # below this the header and the time cost more than the bytes saved
_GZIP_LEVEL = 1  # 3 times faster than the default for 10 % more bytes, which a LAN transfers easily
_COMPRESSIBLE = ("application/json", "text/", "image/svg", CONTENT_TYPE)


def json_response(data: Any) -> Response:
    """`data` (see json_encoding.plain) as JSON."""
    return Response(to_json(data), content_type="application/json")


def columns_response(meta: Mapping[str, Any], columns: Iterable[Column]) -> Response:
    """Rows as flat buffers."""
    return Response(write_columns(meta, columns), content_type=CONTENT_TYPE)


@dataclass(frozen=True, slots=True)
class PackedResponse:
    """An answer that is sent repeatedly: hashed and compressed once."""

    body: bytes
    content_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, content_type: str) -> PackedResponse:
        """Compresses a body."""
        packed = gzip.compress(body, _GZIP_LEVEL, mtime=0)
        # The hash of the compressed form reads a tenth of the bytes.
        return cls(packed, content_type, _hash(packed))


def packed_response(packed: PackedResponse) -> Response:
    """The answer, decompressed for a client that does not accept gzip."""
    gzipped = request.accept_encodings.quality("gzip") > 0
    response = Response(
        packed.body if gzipped else gzip.decompress(packed.body), content_type=packed.content_type
    )
    response.vary.add("Accept-Encoding")
    response.set_etag(packed.etag + ("-gzip" if gzipped else ""))
    if gzipped:
        response.headers["Content-Encoding"] = "gzip"
    return response


def install(app: Flask) -> None:
    """Finishes every answer of `app` this way."""
    app.after_request(_finish)


def _finish(response: Response) -> Response:
    if response.status_code != 200:
        return response
    response.headers.setdefault("Cache-Control", "no-cache")
    request.environ[CONTENT_TYPE_KEY] = response.content_type
    if response.get_etag()[0] is not None:  # already set by `packed_response`
        return _conditional(response)
    response.direct_passthrough = False  # files are small, and are gzipped like the rest
    body = response.get_data()
    compress = len(body) >= GZIP_FROM and response.content_type.startswith(_COMPRESSIBLE)
    if compress:
        response.vary.add("Accept-Encoding")
    compress = compress and request.accept_encodings.quality("gzip") > 0
    response.set_etag(_hash(body) + ("-gzip" if compress else ""))
    _conditional(response)
    if compress and response.status_code == 200:
        response.set_data(gzip.compress(body, _GZIP_LEVEL, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response


def _conditional(response: Response) -> Response:
    """304 if the client has the current response; the whole response if its header is invalid (a late
    year)."""
    with suppress(ValueError, OverflowError):
        response.make_conditional(request)
    return response


def _hash(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=12).hexdigest()
