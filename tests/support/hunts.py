"""The programs of docs/hunts.md, run as they are written: `python hunts.py FOLDER [--mended]`."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "hunts.md"
PROGRAMS = dict(
    re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
)
MENDED = {  # program -> the lines that the document says mend it
    "reader.py": [("-np.inf)", "-1e9)")],
    "cnn.py": [("* 16  #", "/ 16  #")],
    "drift.py": [
        (
            "tf.reduce_mean(x * x, axis=-1, keepdims=True) - mean * mean",
            "tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)",
        )
    ],
}


def run_all(folder: Path, *, mended: bool) -> None:
    """Runs every program in a folder, which gets the files and `logs/`."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name, code in PROGRAMS.items():
        for wrong, right in MENDED[name] if mended else ():
            assert code.count(wrong) == 1, (name, wrong)
            code = code.replace(wrong, right)
        Path(name).write_text(f"# {name}\n{code}", encoding="utf-8")
        runpy.run_path(name)


if __name__ == "__main__":
    where = Path(sys.argv[1]).absolute()
    run_all(where / "found", mended=False)
    if "--mended" in sys.argv:
        run_all(where / "mended", mended=True)
