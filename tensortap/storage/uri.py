"""Addresses of log directories (`s3://…`, `https://…`) as paths, and paths back to addresses.

Each address gets a path below `ROOT`, which no disk has, so that readers of dumps take one type for all of
them: `filesystem.py` calls `remote_of` to see whether a path represents an address.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tensortap.core.errors import RemoteError

from .arrow_filesystem import arrow_bucket
from .fsspec_folder import RemoteFolder

ROOT = Path(Path.cwd().anchor, "tensortap-address")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")
_READ_ONLY = {"http", "https", "zip", "tar", "github", "gist", "git", "data", "reference"}
# Before the last `@`: certainly a user and a password, or possibly host and port.
_USER = re.compile(r"://(?!\[)[^/?#:@]*:(?!:|\d*(?:[/?#]|::))")
_PORT = re.compile(r"://(?!\[|localhost:|[\d.]+:)[^/?#:@]*:\d*(?:[/?#]|::)")
_QUERY = re.compile("[?#]")
_INSTALL = 'Install it with: pip install "tensortap[remote]"'


@dataclass(frozen=True, slots=True)
class _Mount:
    url: str
    shown: str
    folder: RemoteFolder


_MOUNTS: dict[str, _Mount] = {}
_LOCK = threading.Lock()


def is_address(text: str) -> bool:
    """Whether a text names something elsewhere: `s3://bucket/logs`, `zip://run::https://host/runs.zip`."""
    return _ADDRESS.match(text) is not None


def path_of(text: str | os.PathLike[str]) -> Path:
    """The path that represents an address; other paths unchanged. Sends no request.

    Raises:
        RemoteError: no file system of that kind is known here.
    """
    text = os.fspath(text)
    if not is_address(text):
        return Path(text)
    shown = without_secrets(text)
    fs, root = _file_system(text, shown)
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "file" in protocols:
        return Path(root)
    with _LOCK:
        key = next(name for name in _keys(shown, text) if name not in _MOUNTS or _MOUNTS[name].url == text)
        if key not in _MOUNTS:
            _MOUNTS[key] = _Mount(text, shown, RemoteFolder(fs, root, shown, "http" in protocols))
    return ROOT / key / _name(shown)


def local_path(text: str | os.PathLike[str], why: str = "only local paths work here") -> Path:
    """A path on a disk.

    Raises:
        RemoteError: it is an address.
    """
    if is_address(os.fspath(text)):
        raise RemoteError(
            f"{without_secrets(os.fspath(text))} is remote: {why}.",
            "Use a local folder; see docs/remote.md.",
        )
    return Path(text)


def target_path(text: str | os.PathLike[str]) -> Path:
    """The path of a log directory to write: on disk, or at a writable address.

    Raises:
        RemoteError: nothing can be written there, or no file system of that kind is known here.
    """
    text = os.fspath(text)
    if is_address(text):
        scheme = text.partition(":")[0].lower()
        if "::" in text or "?" in text or "#" in text or scheme in _READ_ONLY:
            raise RemoteError(
                f"Cannot write to {without_secrets(text)}.",
                "Write to a local disk, a bucket or a file server (s3://, gs://, abfs://, sftp:// …).",
            )
    return path_of(text)


def target_run(text: str | os.PathLike[str]) -> Path:
    """The path of a run to write; at an address, the run is its last part.

    Raises:
        RemoteError: as for `target_path`; or the address has no part for a run.
    """
    text = os.fspath(text)
    if not is_address(text):
        return Path(text)
    logdir, _, run = text.rstrip("/").rpartition("/")
    if not run or logdir.endswith(("/", ":")):
        shown = without_secrets(text)
        raise RemoteError(
            f"{shown} does not name a run.", "Use a path in a bucket or folder: s3://bucket/logs/run."
        )
    return target_path(logdir) / run


def new_remote_of(path: Path) -> tuple[RemoteFolder, str]:
    """As `remote_of`, with new connections for this process."""
    mount = _MOUNTS[path.parts[2]]
    fs, root = _file_system(mount.url, mount.shown)
    return RemoteFolder(fs, root, mount.shown, web=False), "/".join(path.parts[4:])


def put_file(source: Path, target: Path) -> None:
    """Puts a file of the disk where a path from `target_path` points, in place of one that is there.

    Raises:
        OSError: the address refuses.
    """
    remote, name = new_remote_of(target)
    remote.write_file(name, source)


def address_of(path: Path) -> str:
    """The address behind a path from `path_of`, with its secrets: never print it."""
    return _MOUNTS[path.parts[2]].url


def remote_of(path: Path) -> tuple[RemoteFolder, str] | None:
    """The remote folder and the name of `path` in it (empty for the folder itself); None for a path on
    disk."""
    parts = path.parts
    if len(parts) < 4 or parts[:2] != ROOT.parts:
        return None
    mount = _MOUNTS.get(parts[2])
    return None if mount is None else (mount.folder, "/".join(parts[4:]))


def is_remote(path: Path) -> bool:
    """Whether a path represents an address."""
    return remote_of(path) is not None


def shown_path(path: Path) -> str:
    """A path for output: an address as given, without its secrets."""
    found = remote_of(path)
    return str(path) if found is None else found[0].shown_name(found[1])


def without_secrets(address: str) -> str:
    """An address without user, password and query, which may contain keys and signatures.

    A password may hold `@`, and one that is not written as addresses require even `/`, `?` or `#`: then the
    apparent port is not a number, and everything up to the last `@` is hidden. Where it is a number, either
    may be meant (`u:12/34@h`): then `…` replaces everything that may be secret. Takes time in proportion to
    the length.
    """
    address = re.sub(r"(://)[^/]*@", r"\1", address)
    last = address.rfind("@")
    user = _USER.search(address, 0, max(last, 0))
    if user is not None:
        address = address[: user.start() + 3] + address[last + 1 :]
    elif (port := _PORT.search(address, 0, max(last, 0))) is not None:
        ambiguous = _QUERY.search(address, port.start(), last)
        address = address[: port.start() + 3] + "…" + ("" if ambiguous else address[last:])
    return re.sub(r"[?#].*?(?=::|\Z)", "", address, flags=re.DOTALL)


def _file_system(text: str, shown: str) -> tuple[Any, str]:
    """The file system of an address, and the place in it: pyarrow's for buckets, fsspec's for the rest."""
    bucket = arrow_bucket(text)
    if bucket is not None:
        return bucket
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise RemoteError(f"{shown} cannot be read: fsspec is not installed.", _INSTALL) from error
    options: dict[str, Any] = {"use_listings_cache": False}
    try:
        for scheme in re.findall(r"(?:^|::)(https?)://", text):  # also the one with an archive
            options[scheme] = _web_options()
        fs, root = url_to_fs(text, **options)
    except ImportError as error:
        hint = str(error) if "://" not in str(error) else _INSTALL
        raise RemoteError(f"{shown} cannot be read: a package is missing.", hint) from None
    except Exception as error:
        raise RemoteError(
            f"{shown} cannot be read: fsspec says {type(error).__name__}.",
            "Use an address that fsspec supports, e.g. s3://bucket/logs.",
        ) from None  # the text of an error may contain secrets
    return fs, root


def _web_options() -> dict[str, Any]:

    from .bounded_response import client_options

    identity = {"Accept-Encoding": "identity"}  # ranges are those of the bytes themselves
    return {"headers": identity, "client_kwargs": client_options()}


def _keys(shown: str, text: str) -> tuple[str, str]:
    """The same on every day, so that a saved index is found again; another one if that is taken."""
    return _hash(shown), _hash(text)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _name(shown: str) -> str:
    first = shown.split("::")[0].split("://")[-1] or shown.split("::")[-1].split("://")[-1]
    name = unquote(first.rstrip("/").rpartition("/")[2])
    return re.sub(r"[\x00-\x1f\\/:]", "-", name).strip(".") or "logs"
