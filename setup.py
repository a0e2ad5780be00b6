"""Builds the package `tensortap` from the sibling folders ("rooms") of this checkout."""

from pathlib import Path

from setuptools import setup

ROOMS = {
    "tensortap": "entry",
    "tensortap.dump": "dump",
    "tensortap.capture": "capture",
    "tensortap.importers": "importers",
    "tensortap.index": "index",
    "tensortap.analysis": "analysis",
    "tensortap.server": "server",
    "tensortap.plugin": "plugin",
}

HERE = Path(__file__).parent


def subpackages() -> dict[str, str]:
    """Rooms and the packages below them (a folder with an `__init__.py`)."""
    found = dict(ROOMS)
    for package, room in ROOMS.items():
        for init in sorted((HERE / room).rglob("__init__.py")):
            folder = init.parent.relative_to(HERE / room)
            if folder.parts:
                found[".".join((package, *folder.parts))] = str(init.parent.relative_to(HERE))
    return found


PACKAGES = subpackages()
setup(packages=list(PACKAGES), package_dir=PACKAGES)
