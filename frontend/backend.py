"""The build backend: setuptools', which also asks for a Node.js that the machine lacks and the page needs.

An editable install asks for nothing: its page is built by `make frontend`.
"""

from __future__ import annotations

import bundle
from setuptools import build_meta

Settings = dict[str, str | list[str] | None]

build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist
build_wheel = build_meta.build_wheel
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _node()


def get_requires_for_build_sdist(config_settings: Settings | None = None) -> list[str]:
    return build_meta.get_requires_for_build_sdist(config_settings) + _node()


def _node() -> list[str]:
    needed = not bundle.is_current() and bundle.machines_node() is None
    return [bundle.NODE_PACKAGE] if needed else []
