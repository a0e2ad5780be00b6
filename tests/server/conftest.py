"""The small dump and the application that serves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from small_dump import Api, write_dump
from werkzeug.test import Client

from tensortap.server.app import create_app

Opened = Callable[..., Api]


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("logs")
    write_dump(found)
    return found


@pytest.fixture(scope="session")
def opened() -> Opened:
    """`opened(logdir, **options of create_app)` -> Api."""
    return lambda logdir, **options: Api(Client(create_app(logdir, **options)))


@pytest.fixture(scope="session")
def api(logdir: Path, opened: Opened) -> Api:
    return opened(logdir)


@pytest.fixture(scope="session")
def first(api: Api) -> str:
    """The address of the run `exp/first`."""
    return f"/api/runs/{api.run_id('exp/first')}"


@pytest.fixture(scope="session")
def graph(api: Api, first: str) -> str:
    """The address of its graph."""
    return f"{first}/graphs/{api.json(first + '/graphs')['graphs'][0]['id']}"
