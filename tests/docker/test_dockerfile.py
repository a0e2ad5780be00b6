"""docker/ without an engine: the rules of a good Dockerfile, and that it names what is in the checkout."""

import runpy
from pathlib import Path
from typing import Any

import docker_rules
import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
DOCKERFILE = (CHECKOUT / "docker" / "Dockerfile").read_text()

GOOD = """\
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends jq=1.7 \\
    && rm -rf /var/lib/apt/lists/*
USER someone
HEALTHCHECK CMD ["true"]
ENTRYPOINT ["jq"]
"""


def test_our_image_keeps_the_rules() -> None:
    assert docker_rules.problems(DOCKERFILE) == []


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("3.12-slim", "latest", "not pinned"),
        ("python:3.12-slim", "python", "not pinned"),
        ("USER someone\n", "", "runs as root"),
        ("USER someone", "USER root", "runs as root"),
        ("USER someone", "USER 0:0", "runs as root"),
        ("HEALTHCHECK", "# HEALTHCHECK", "no health check"),
        ('["jq"]', "jq", "through a shell"),
        (" --no-install-recommends", "", "recommended packages"),
        (" \\\n    && rm -rf /var/lib/apt/lists/*", "", "lists stay"),
        ("USER someone", "USER someone\nADD x y", "ADD"),
        ("apt-get update", "pip install six", "pip's cache"),
    ],
)
def test_rules_find_what_breaks_them(good: str, bad: str, said: str) -> None:
    assert docker_rules.problems(GOOD) == []
    broken = GOOD.replace(good, bad)
    assert [said in problem for problem in docker_rules.problems(broken)] == [True]


def sources() -> list[str]:
    """What the image copies from the checkout."""
    copies = [copy for stage in docker_rules.parse(DOCKERFILE) for copy in stage.all("COPY")]
    return [source for copy in copies if "from" not in copy.flags for source in copy.words()[:-1]]


def test_copied_sources_exist() -> None:
    assert [source for source in sources() if not (CHECKOUT / source).exists()] == []


def test_every_room_is_copied() -> None:
    rooms = {
        folder.split("/")[0] for folder in runpy.run_path(str(CHECKOUT / "setup.py"))["packages"]().values()
    }
    assert {source.rstrip("/") for source in sources()} >= rooms


def test_context_has_what_is_copied_and_no_builds() -> None:
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    single = {source for source in sources() if source.startswith("docker/")}
    single |= {".ci/locks" for source in sources() if source.startswith(".ci/locks/")}
    tops = single | {
        source.split("/")[0] for source in sources() if not source.startswith(("docker/", ".ci/"))
    }
    assert let_in == tops
    assert {"*", "server/static", "frontend/node_modules"} <= set(ignored)


def test_final_stage_takes_no_tensorflow() -> None:
    final = docker_rules.parse(DOCKERFILE)[-1]
    installs = [run.rest for stage in docker_rules.parse(DOCKERFILE) for run in stage.all("RUN")]
    assert final.name is None
    assert not [run for run in installs if "tensorflow" in run or "[" in run]


def test_stages_that_are_copied_from_exist() -> None:
    stages = docker_rules.parse(DOCKERFILE)
    names = {stage.name for stage in stages}
    assert {
        copy.flags["from"] for stage in stages for copy in stage.all("COPY") if "from" in copy.flags
    } <= names


def compose() -> dict[str, Any]:
    service: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker" / "compose.yaml").read_text())["services"][
        "tensortap"
    ]
    return service


def test_compose_publishes_on_loopback_only() -> None:
    assert compose()["ports"] == ["127.0.0.1:${TENSORTAP_PUBLISH:-6016}:6016"]


def test_compose_mounts_the_logs_read_only_and_takes_rights_away() -> None:
    service = compose()
    assert [str(volume).endswith(":/logs:ro") for volume in service["volumes"]] == [True]
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]


def test_compose_wants_a_token_and_builds_our_dockerfile() -> None:
    service = compose()
    assert ":?" in service["environment"]["TENSORTAP_TOKEN"]
    build = service["build"]
    assert (
        CHECKOUT / "docker" / build["context"] / build["dockerfile"]
    ).resolve() == CHECKOUT / "docker" / "Dockerfile"
