"""The sdist and the wheel carry what they must, and the wheel works where nothing of the checkout is."""

import runpy
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def wheel_files(distributions: Path) -> set[str]:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_has_every_room(distributions: Path) -> None:
    packages = runpy.run_path(str(CHECKOUT / "setup.py"))["packages"]()
    wanted = {f"{package.replace('.', '/')}/__init__.py" for package in packages}
    assert {
        "tensortap/__init__.py",
        "tensortap/capture/__init__.py",
        "tensortap/plugin/__init__.py",
    } <= wanted
    data = {"tensortap/py.typed", "tensortap/html/templates/comparison.html.j2"}
    assert wanted | data <= wheel_files(distributions)


def test_wheel_has_the_page_and_its_licences(distributions: Path) -> None:
    files = wheel_files(distributions)
    page = {file.removeprefix("tensortap/server/static/") for file in files if "/server/static/" in file}
    assert {"index.html", "plugin.js", "licenses.md"} <= page
    assert any(file.startswith("assets/") and file.endswith(".js") for file in page)
    assert "tensortap/server/http_api.md" in files


def test_wheel_has_nothing_else(distributions: Path) -> None:
    files = wheel_files(distributions)
    assert {file.split("/")[0].split("-")[0] for file in files} == {"tensortap"}
    assert not [file for file in files if "/test" in file or file.endswith((".ts", ".pyc"))]


def test_sdist_builds_without_frontend_sources(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"server/static/index.html", "frontend/bundle.py", "frontend/backend.py", "LICENSE"} <= files
    assert "frontend/package.json" not in files


def test_command_prints_help(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed / "tensortap", "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "demo" in done.stdout and "serve" in done.stdout


@pytest.mark.parametrize("module", ["tensortap", "tensortap.server", "tensortap.plugin"])
def test_imports_from_the_wheel_without_tensorflow(installed: Path, tmp_path: Path, module: str) -> None:
    program = f"import {module} as m; print(m.__file__)"
    done = subprocess.run(
        [installed / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()).is_relative_to(installed.parent)


def test_importing_tensortap_is_light(installed: Path, tmp_path: Path) -> None:
    heavy = ("tensorflow", "flask", "numpy", "numba")
    program = f"import sys, tensortap; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [installed / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_tensorboard_finds_the_plugin(installed: Path, tmp_path: Path) -> None:
    program = (
        "from importlib.metadata import distribution\n"
        "points = distribution('tensortap').entry_points.select(group='tensorboard_plugins')\n"
        "print([point.load().plugin_name for point in points])"
    )
    done = subprocess.run(
        [installed / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['tensortap']"


def test_a_second_build_gives_the_same_wheel(distributions: Path, distributions_again: Path) -> None:
    (first,), (second,) = (folder.glob("*.whl") for folder in (distributions, distributions_again))
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_an_sdist_tells_neither_who_built_it_nor_when(distributions: Path) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {
        (1767225600, 0, 0, "")
    }
    assert {member.mode for member in members} <= {0o644, 0o755}
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert sdist.read_bytes()[4:8] == (1767225600).to_bytes(4, "little"), "the time in the header of gzip"
