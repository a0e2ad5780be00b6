"""The package as it is installed, as a tree of links: tools that read files see `tensortap.server`, too."""

import os
import runpy
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
ROOT = CHECKOUT / ".tools" / "types"


def link_packages() -> Path:
    """Links what is in `tensortap/`, and the folders that `setup.py` maps; returns the folder of the tree."""
    folders: dict[str, str] = runpy.run_path(str(CHECKOUT / "setup.py"))["FOLDERS"]
    tree = ROOT / "tensortap"
    tree.mkdir(parents=True, exist_ok=True)
    wanted = {package.removeprefix("tensortap."): CHECKOUT / folder for package, folder in folders.items()}
    top = wanted.pop("tensortap")
    wanted |= {path.name: path for path in top.iterdir() if path.name != "__pycache__"}
    for link in tree.iterdir():
        link.unlink()
    for name, target in wanted.items():
        (tree / name).symlink_to(os.path.relpath(target, tree))
    return ROOT
