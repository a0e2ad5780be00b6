"""Kernels where numba cannot keep what it compiled, or cannot compile at all."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tensortap.stats import compile
from tensortap.stats.summarize import summarize, warm_up

pytestmark = pytest.mark.slow

MEASURE = """
import numpy as np
from tensortap.stats.summarize import summarize
s = summarize(np.array([1, -2, 0, np.nan], np.float32))
print(f"{s.mean:.9f}", s.nan, s.negative, s.histogram.buckets())
"""
EXPECTED = "-0.333333333 1 1 [(-3.0, -2.0, 1), (1.0, 1.5, 1)]\n"
NOWHERE_TO_KEEP = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n"
NO_NUMBA = "import sys; sys.modules['numba'] = None\n"


def measure(prefix: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment}
    return subprocess.run(
        [sys.executable, "-c", prefix + MEASURE], env=variables, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize("prefix", [NOWHERE_TO_KEEP, NO_NUMBA])
def test_figures_are_the_same(tmp_path: Path, prefix: str) -> None:
    done = measure(prefix, tmp_path)
    assert done.stdout == EXPECTED
    assert ("10 times slower" in done.stderr) == (prefix == NO_NUMBA)


def test_without_jit(tmp_path: Path) -> None:
    done = measure("", tmp_path, NUMBA_DISABLE_JIT="1")
    assert done.stdout == EXPECTED
    assert "NUMBA_DISABLE_JIT" in done.stderr


LIMITED = """
import os, resource
from pathlib import Path
from tensortap.stats.summarize import summarize
taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (taken + ({} << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("megabytes", "slow"),
    [
        (120, True),
        *(pytest.param(size, True, marks=pytest.mark.nightly) for size in (200, 250)),
        (4000, False),
    ],
)
def test_under_a_limit_of_the_address_space(tmp_path: Path, megabytes: int, slow: bool) -> None:
    done = measure(LIMITED.format(megabytes), tmp_path)
    assert done.stdout == EXPECTED
    assert ("ulimit -v" in done.stderr) == slow


FORKED_MEANWHILE = """
import os, signal, sys, threading

begun = threading.Event()

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "numba.core":
            begun.set()

sys.meta_path.insert(0, Finder())
import numpy as np
from tensortap.stats.summarize import summarize
thread = threading.Thread(target=summarize, args=(np.ones(3, np.float32),))
thread.start()
begun.wait()
child = os.fork()
if child:
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
else:
    signal.alarm(300)  # for a child that hangs; a busy machine may need a while
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_that_is_forked_while_numba_is_imported(tmp_path: Path) -> None:
    done = measure(FORKED_MEANWHILE, tmp_path)
    assert done.stdout == 2 * EXPECTED
    assert "10 times slower" not in done.stderr


FORKED_WHILE_LLVM_WORKS = """
import os, signal, threading
from concurrent.futures import ThreadPoolExecutor

forks, works = threading.Event(), threading.Event()

def work():
    works.set()
    forks.wait()

from tensortap.stats.summarize import warm_up
warm_up()
os.register_at_fork(before=forks.set)
from llvmlite import binding
binding.ffi.register_lock_callback(work, lambda: None)  # while llvmlite's lock is held
with ThreadPoolExecutor(1) as pool:
    pool.submit(binding.get_process_triple)
    works.wait()
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(not binding.get_process_triple())
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.nightly
def test_a_child_that_is_forked_while_a_thread_is_in_llvm(tmp_path: Path) -> None:
    assert measure(FORKED_WHILE_LLVM_WORKS, tmp_path).stdout == EXPECTED


def test_damaged_kept_code_is_compiled_again(tmp_path: Path) -> None:
    assert measure("", tmp_path).stdout == EXPECTED
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert kept
    for path in kept:
        path.write_bytes(b"junk")
    assert measure("", tmp_path).stdout == EXPECTED


IMPORTED_THERE = "import numba, os; os.chdir('..')\n"


@pytest.mark.parametrize("prefix", ["", IMPORTED_THERE])
def test_nothing_is_done_that_a_file_of_the_folder_asks_numba_for(tmp_path: Path, prefix: str) -> None:
    """numba unpickles what it kept; where that is, and where traces are written, such a file may say."""
    folder, planted, trace = tmp_path / "theirs", tmp_path / "planted", tmp_path / "trace"
    folder.mkdir()
    traced = "" if prefix else f"\nchrome_trace: {trace}"  # a program's own import of numba obeys it
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {planted}{traced}\n")
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", prefix + MEASURE]
    done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == EXPECTED
    assert not planted.exists() and not trace.exists()


def test_a_kernel_is_compiled_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up()
    monkeypatch.setattr(compile, "_compile", None)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(summarize, np.ones(3, np.float32)).result().l2 == 3**0.5


def test_importing_compiles_and_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, tensortap.dump; print({'numba', 'tensorflow', 'pandas'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
