"""Buckets through pyarrow, which each installation has: S3, Google Cloud Storage and Azure.

`ArrowBucket` has those methods of an fsspec file system that `RemoteFolder` calls. Keys come from where each
store's own tools look for them.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "az": "abfs"}
_PLAIN = re.compile(r"([a-z0-9]+)://([^/?#:]+)(/[^?#]*)?")
_SECONDS = 30  # without an answer
_BLOCK = 8 << 20  # bytes that are put at once


class ArrowBucket:
    """A store's buckets. Nothing is asked before the first call.

    All methods raise OSError, FileNotFoundError where nothing is there.
    """

    def __init__(self, scheme: str, connect: Callable[[], Any]) -> None:
        self.protocol = (scheme,)
        self._connect = connect

    @cached_property
    def _fs(self) -> Any:
        return self._connect()

    def info(self, place: str) -> dict[str, Any]:
        """Name, size, type and time of a file or folder."""
        found = self._fs.get_file_info(place)
        if found.type.name == "NotFound":
            raise FileNotFoundError(place)
        return _info(found)

    def ls(self, place: str, detail: bool = True) -> list[dict[str, Any]]:
        """The same of all that is in a folder; of a file, its own.

        pyarrow only lists folders of Google Cloud Storage that have an object, which few programs write.
        There all files below are listed.
        """
        recursive = self.protocol == ("gs",)
        selector = import_module("pyarrow.fs").FileSelector(place, recursive=recursive)
        try:
            found = self._fs.get_file_info(selector)
        except OSError as error:
            if "NO_SUCH_BUCKET" in str(error):
                raise FileNotFoundError(place) from None
            if "AWS Error" in str(error):  # a second request would fail, too, and say less
                raise
            about = self.info(place)
            if about["type"] == "directory":
                raise
            return [about]
        if not recursive:
            return [_info(each) for each in found]
        if not found and (about := self.info(place))["type"] != "directory":
            return [about]
        return list(_children(place, found).values())

    def cat_file(self, place: str, start: int, end: int) -> bytes:
        """The bytes of a file from `start` to `end`. pyarrow requests the size first, and takes none."""
        with self._fs.open_input_file(place) as file:
            data: bytes = file.read_at(end - start, start)
        return data

    def pipe_file(self, place: str, data: bytes) -> None:
        """Puts a whole file there."""
        self._put(io.BytesIO(data), place)

    def put_file(self, source: str, place: str) -> None:
        """Puts a file of the disk there."""
        with Path(source).open("rb") as file:
            self._put(file, place)

    def _put(self, file: IO[bytes], place: str) -> None:
        try:
            with self._fs.open_output_stream(place) as out:
                shutil.copyfileobj(file, out, _BLOCK)
        except OSError as error:
            if "NO_SUCH_BUCKET" in str(error):
                raise FileNotFoundError(place) from None
            raise

    def invalidate_cache(self, place: str | None = None) -> None:
        """Forgets nothing: nothing is remembered."""


def arrow_bucket(address: str) -> tuple[ArrowBucket, str] | None:
    """The store of an address, and the place in it; None where pyarrow does not reach it, or the address says
    more than bucket and path."""
    found = _PLAIN.fullmatch(address)
    scheme = _SCHEMES.get(found[1]) if found else None
    if found is None or scheme is None:
        return None
    bucket, path = found[2], (found[3] or "").strip("/")
    fs = import_module("pyarrow.fs")
    account = ""
    if scheme == "abfs":
        bucket, _, host = bucket.partition("@")
        account = host.partition(".")[0] or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    elif "@" in bucket:
        return None
    name = {"s3": "S3FileSystem", "gs": "GcsFileSystem", "abfs": "AzureFileSystem"}[scheme]
    if not hasattr(fs, name) or (scheme == "abfs" and not account):
        return None  # this build of pyarrow has none
    connect = {"s3": lambda: _s3(fs, bucket), "gs": lambda: _gcs(fs), "abfs": lambda: _azure(fs, account)}
    return ArrowBucket(scheme, connect[scheme]), f"{bucket}/{path}" if path else bucket


def _s3(fs: Any, bucket: str) -> Any:
    """As `AWS_ENDPOINT_URL`, the region's and the keys' variables and files say."""
    options: dict[str, Any] = {"request_timeout": _SECONDS, "connect_timeout": _SECONDS}
    options["allow_delayed_open"] = True  # one request for a small file instead of three
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    scheme, separator, host = endpoint.rpartition("://")
    if host:
        options["endpoint_override"] = host.rstrip("/")
        options |= {"scheme": scheme} if separator else {}
    if os.environ.get("AWS_NO_SIGN_REQUEST", "").lower() in ("1", "true", "yes"):
        options["anonymous"] = True
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options["region"] = region or ("us-east-1" if host else fs.resolve_s3_region(bucket))
    return fs.S3FileSystem(**options)


def _gcs(fs: Any) -> Any:
    """As `GOOGLE_APPLICATION_CREDENTIALS` says; an emulator (`STORAGE_EMULATOR_HOST`) needs none."""
    scheme, _, host = os.environ.get("STORAGE_EMULATOR_HOST", "").rpartition("://")
    if not host:
        return fs.GcsFileSystem()
    return fs.GcsFileSystem(anonymous=True, endpoint_override=host, scheme=scheme or "http")


def _azure(fs: Any, account: str) -> Any:
    """As `AZURE_STORAGE_ACCOUNT_KEY` or the account's login says."""
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")
    return fs.AzureFileSystem(account_name=account, **({"account_key": key} if key else {}))


def _children(place: str, below: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """What is directly in a folder, by name, from all that is below it."""
    children: dict[str, dict[str, Any]] = {}
    for found in below:
        name, _, rest = found.path.removeprefix(f"{place.rstrip('/')}/").partition("/")
        folder = {"name": f"{place.rstrip('/')}/{name}", "type": "directory", "size": None}
        children[name] = folder if rest else _info(found)
    return children


def _info(found: Any) -> dict[str, Any]:
    is_folder = found.type.name == "Directory"
    about = {"name": found.path, "type": "directory" if is_folder else "file", "size": found.size}
    return about | ({"mtime": found.mtime_ns / 1e9} if found.mtime_ns else {})
