"""The build backend: setuptools', which also asks for a Node.js that the machine lacks and the page needs.

An editable install asks for nothing: its page is built by `make frontend`.
With SOURCE_DATE_EPOCH in the environment the same sources give the same bytes (setuptools sees to wheels).
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import bundle
from setuptools import build_meta

Settings = dict[str, str | list[str] | None]

build_editable = build_meta.build_editable
build_wheel = build_meta.build_wheel
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    """The hook of PEP 517; the archive is written anew where its times are given."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    if "SOURCE_DATE_EPOCH" in os.environ:
        settle(Path(sdist_directory, name), int(os.environ["SOURCE_DATE_EPOCH"]))
    return name


def settle(archive: Path, time: int) -> None:
    """Writes a `.tar.gz` anew: members by name, all of that time (seconds since 1970), of nobody's."""
    plain = io.BytesIO()
    with (
        tarfile.open(archive) as source,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            data = source.extractfile(member) if member.isfile() else None
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            out.addfile(member, data)
    archive.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=time))


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _node()


def get_requires_for_build_sdist(config_settings: Settings | None = None) -> list[str]:
    return build_meta.get_requires_for_build_sdist(config_settings) + _node()


def _node() -> list[str]:
    needed = not bundle.is_current() and bundle.machines_node() is None
    return [bundle.NODE_PACKAGE] if needed else []
