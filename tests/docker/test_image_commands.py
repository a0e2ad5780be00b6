"""What the image runs, run from the wheel: the server starts, its health check agrees, it ends when told."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import docker_rules
import polling
import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
DOCKER = CHECKOUT / "docker"
_, PACKAGE, FINAL = docker_rules.parse((DOCKER / "Dockerfile").read_text())


def test_what_is_copied_is_enough_to_install(distributions: Path, tmp_path: Path) -> None:
    """GIVEN only what the image copies WHEN it is installed THEN it has what the wheel has."""
    context, target = tmp_path / "context", tmp_path / "target"
    for copy in PACKAGE.all("COPY"):
        *sources, place = copy.words()
        for source in sources:
            found = CHECKOUT / source.removeprefix("/build/")
            if found.is_dir():
                shutil.copytree(found, context / place, dirs_exist_ok=True)
            else:
                (context / place).mkdir(parents=True, exist_ok=True)
                shutil.copy(found, context / place)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--target", str(target), str(context)], check=True
    )
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        expected = {name for name in archive.namelist() if name.startswith("tensortap/")}
    got = {str(path.relative_to(target)) for path in (target / "tensortap").rglob("*") if path.is_file()}
    assert {name for name in got if not name.endswith(".pyc")} == expected


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_healthy(port: int) -> bool:
    """Runs the image's health check against `port`."""
    words = FINAL.last("HEALTHCHECK").rest.removeprefix("CMD ")
    assert words == '["python", "/opt/tensortap/healthcheck.py", "6016"]'
    done = subprocess.run(
        [sys.executable, DOCKER / "healthcheck.py", str(port)], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.fixture(params=["Dockerfile", "compose.yaml"])
def server(
    request: pytest.FixtureRequest, installed: Path, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command of the image, or of the compose file, with another port and an empty log directory."""
    if request.param == "Dockerfile":
        command = FINAL.last("CMD").words()
    else:
        command = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["tensortap"]["command"]
    port = free_port()
    given = {"/logs": str(tmp_path), "6016": str(port), "${TENSORTAP_HOST:-localhost}": "localhost"}
    (program,) = FINAL.last("ENTRYPOINT").words()
    process = subprocess.Popen(
        [str(installed / program), *(given.get(word, word) for word in command)],
        env={**os.environ, "TENSORTAP_TOKEN": "a-token-for-this-test", "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process, port
        process.kill()


def test_server_is_healthy_and_ends_when_reported(server: tuple[subprocess.Popen[str], int]) -> None:
    process, port = server
    assert not is_healthy(free_port())
    polling.until(lambda: process.poll() is not None or is_healthy(port), "the health check to pass")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "?token=a-token-for-this-test" in output
