"""Builds the package: `tensortap/`, the two folders beside it that belong to it, and the built page."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

FOLDERS = {
    "tensortap": "tensortap",
    "tensortap.server": "server",
    "tensortap.plugin": "plugin",
}

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "frontend"))
import bundle  # noqa: E402  (a file of this checkout, found by the line above)


def packages() -> dict[str, str]:
    """Package name -> folder: these, and all below them."""
    found = {}
    for package, folder in FOLDERS.items():
        for init in sorted((HERE / folder).rglob("__init__.py")):
            below = init.parent.relative_to(HERE / folder).parts
            found[".".join((package, *below))] = str(init.parent.relative_to(HERE))
    return found


class BuildWithPage(build_py):
    """Builds the page before the files of the package are collected; an editable install does without."""

    def run(self) -> None:
        if not self.editable_mode:
            bundle.build()
        super().run()


class SdistWithPage(sdist):
    """Builds the page first: who builds from an sdist needs no Node.js."""

    def run(self) -> None:
        bundle.build()
        super().run()


if __name__ == "__main__":
    setup(
        packages=list(packages()),
        package_dir=packages(),
        cmdclass={"build_py": BuildWithPage, "sdist": SdistWithPage},
    )
