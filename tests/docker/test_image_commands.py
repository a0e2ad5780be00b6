"""What the image runs, run from the wheel: the server starts, its health check agrees, it ends when told."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker_rules
import polling
import pytest
import yaml

DOCKER = Path(__file__).resolve().parents[2] / "docker"
FINAL = docker_rules.parse((DOCKER / "Dockerfile").read_text())[-1]


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


def test_server_is_healthy_and_ends_when_told(server: tuple[subprocess.Popen[str], int]) -> None:
    process, port = server
    assert not is_healthy(free_port())
    polling.until(lambda: process.poll() is not None or is_healthy(port), "the health check to pass")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "?token=a-token-for-this-test" in output
