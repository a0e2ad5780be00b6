"""Checks the import rules of pyproject.toml (`tool.importlinter`) over the package."""

import os
import sys

from importlinter.cli import lint_imports
from package_tree import CHECKOUT, link_packages

if __name__ == "__main__":
    tree = link_packages()
    os.chdir(tree)  # before the checkout's own `tensortap/`, which lacks the server
    sys.path.insert(0, str(tree))
    sys.exit(lint_imports(config_filename=str(CHECKOUT / "pyproject.toml"), no_logo=True))
