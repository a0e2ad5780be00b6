"""What all tests share: a quiet TensorFlow, property tests that repeat themselves, and `--quick`."""

import gc
import importlib.abc
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from polling import until
from shared_folder import shared_folder
from tensorboard_process import Start, TensorBoard

from tensortap.server import log_reader

# Read when TensorFlow is first imported, here or in a subprocess.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# What a shell starts in the background ignores Ctrl-C, and so would the programs that tests send it to.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Saved indices of this session's runs: none of an earlier one is taken over, and none is left behind.
_CACHE = tempfile.TemporaryDirectory(prefix="tensortap-cache-")
os.environ["TENSORTAP_CACHE"] = _CACHE.name

# Property tests draw the same examples on every run, new ones in `make fuzz`. The first example of a property
# may compile a kernel, so no deadline holds.
settings.register_profile("same", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile("same")

# A request waits until a small log is read, however busy the machine is.
log_reader.NEWS_TIMEOUT = log_reader.DISCOVERY_TIMEOUT = 60.0

CHECKOUT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "skip what needs TensorFlow or a browser, or takes seconds"
    parser.addoption("--quick", action="store_true", help=help_text)
    parser.addoption("--nightly", action="store_true", help="add what repeats the rest on more programs")


class _NotQuick(importlib.abc.MetaPathFinder):
    """Skips the test, or the module of tests, that imports one of these."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in ("tensorflow", "keras", "playwright", "tensorboard"):
            pytest.skip(f"imports {name}", allow_module_level=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; not part of `make check`")
    config.addinivalue_line("markers", "nightly: repeats the rest on more programs; not part of `make test`")
    if config.getoption("quick"):
        sys.meta_path.insert(0, _NotQuick())


# Fixtures that train real models, or build, in processes of their own.
_SLOW_FIXTURES = {"artefacts", "broken_logs", "distributions", "hunts", "start_tensorboard", "trained"}


def _is_slow(item: pytest.Item) -> bool:
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return item.get_closest_marker("slow") is not None or not _SLOW_FIXTURES.isdisjoint(fixtures)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skipped: set[pytest.Item] = set()
    if config.getoption("quick"):
        skipped.update(item for item in items if _is_slow(item))
    if not config.getoption("nightly"):
        skipped.update(item for item in items if item.get_closest_marker("nightly"))
    if skipped:
        config.hook.pytest_deselected(items=[item for item in items if item in skipped])
        items[:] = [item for item in items if item not in skipped]


@pytest.fixture(scope="module", autouse=True)
def _nothing_to_collect() -> Iterator[None]:
    """Graphs of TensorFlow that earlier modules left make a full collection take tens of seconds."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of this checkout and the wheel built from that sdist."""
    return shared_folder(tmp_path_factory, "dist", lambda folder: build_distributions(CHECKOUT, folder))


def build_distributions(source: Path, folder: Path) -> None:
    """What `make build` does, with times of its own choice."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


@pytest.fixture(scope="session")
def distributions_again(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, built from the sdist, at another place and time."""

    def build(folder: Path) -> None:
        (sdist,) = distributions.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "source", filter="data")
        (source,) = (folder / "source").iterdir()
        for file in source.rglob("*.py"):
            file.touch()
        build_distributions(source, folder / "dist")

    return shared_folder(tmp_path_factory, "dist-again", build) / "dist"


@pytest.fixture(scope="session")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh virtual environment with the wheel, and without TensorFlow.

    The dependencies are those of the environment that runs the tests, so nothing is downloaded.
    """
    home = tmp_path_factory.mktemp("installed") / "with a space"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (wheel,) = distributions.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "tensorflow.py").write_text("raise ImportError('this environment has no TensorFlow')\n")
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(ours) + "\n")
    return home / "bin"


@pytest.fixture(scope="session")
def start_tensorboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """`start_tensorboard(logdir, *more arguments, prefix="")`; all are ended with the session."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(logdir: Path, *arguments: str, prefix: str = "") -> TensorBoard:
        log = tmp_path_factory.mktemp("tensorboard") / "log.txt"
        flags = ["--logdir", str(logdir), "--port", "0", "--path_prefix", prefix, *arguments]
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tensorboard.main", *flags], stdout=out, stderr=subprocess.STDOUT
                )
            )
        until(
            lambda: "http://" in log.read_text() or processes[-1].poll() is not None,
            "TensorBoard's address",
            90,
        )
        address = next((word for word in log.read_text().split() if word.startswith("http://")), "")
        assert address, log.read_text()
        return TensorBoard(address.rstrip("/").removesuffix(prefix) + prefix, log)

    yield start
    for process in processes:
        process.terminate()
        process.wait(timeout=20)
