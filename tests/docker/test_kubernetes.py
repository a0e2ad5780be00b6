"""The manifests for Kubernetes: commands that exist, pods without rights, names that fit one another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tensortap.cli.main import build_parser

DOCKER = Path(__file__).resolve().parents[2] / "docker"
FILES = ("kubernetes-serve.yaml", "kubernetes-compact.yaml")


def objects(file: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DOCKER / file).read_text()))


def pods() -> list[dict[str, Any]]:
    """The specifications of all pods."""
    found = [
        each["spec"]["template"]["spec"]
        for file in FILES
        for each in objects(file)
        if "template" in each["spec"]
    ]
    assert len(found) == 4
    return found


def command_of(pod: dict[str, Any]) -> list[str]:
    (container,) = pod["containers"]
    return [*container.get("command", ["tensortap"]), *container.get("args", [])]


def test_pods_have_no_rights() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {
            each["name"] for each in pod["volumes"]
        }


def test_commands_are_understood() -> None:
    found = [command_of(pod) for pod in pods()]
    ours = [build_parser().parse_args(words[1:]) for words in found if words[0] == "tensortap"]
    assert [each.command for each in ours] == ["serve", "compact"]
    dask = [words for words in found if words[0] == "dask"]
    assert [words[1] for words in dask] == ["scheduler", "worker"]
    for words in dask:
        cli = pytest.importorskip(f"distributed.cli.dask_{words[1]}")
        cli.main.make_context(words[1], words[2:])  # raises what is no option


def test_names_fit() -> None:
    found = objects("kubernetes-compact.yaml")
    (service,) = (each["metadata"]["name"] for each in found if each["kind"] == "Service")
    addresses = [word for pod in pods() for word in command_of(pod) if "://" in word]
    assert addresses == [f"tcp://{service}:8786", f"dask://{service}:8786"]
    for each in found:
        if each["kind"] == "Deployment":
            assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]


def test_images_are_ours() -> None:
    assert {pod["containers"][0]["image"] for pod in pods()} == {"tensortap", "tensortap-dask"}
    assert "FROM tensortap\n" in (DOCKER / "Dockerfile.dask").read_text()
