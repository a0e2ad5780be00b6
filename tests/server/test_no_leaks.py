"""No answer of any route tells where things are on this machine, or how a failure looked inside."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from hostile_dump import WEAPONS, write_hostile_dump
from small_dump import write_dump
from werkzeug.test import Client, TestResponse

from tensortap.server.app import create_app

pytestmark = pytest.mark.slow

OWN = {"Host": "localhost:6016"}
INSIDE = re.compile(rb'Traceback|File "|site-packages|\.py", line|werkzeug|Debugger|tensortap/server')
QUERIES = {
    "batch": "step=1",
    "batches": "file=a.png",
    "history": "tensor=dense/MatMul:0",
    "histograms": "tensor=dense/MatMul:0",
    "nan": "step=1",
    "nodes": "node=dense/MatMul",
    "nonfinite": "tensor=dense/MatMul:0&step=1",
    "source": "file=train.py",
    "value": "tensor=dense/MatMul:0&step=1&format=json",
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy run, a hostile one, and four that are damaged in their own ways."""
    found = tmp_path_factory.mktemp("a-place-nobody-is-told") / "logs"
    write_dump(found)
    write_hostile_dump(found)
    for kind in ("stats", "values", "graphs", "run.json"):
        write_dump(found / f"damaged-{kind}")
        for file in (found / f"damaged-{kind}" / "exp" / "first").rglob("*"):
            if file.is_file() and kind in str(file.relative_to(found / f"damaged-{kind}")):
                file.write_bytes(b"\xff" * file.stat().st_size)
    return found


@pytest.fixture(
    scope="module", params=["serve", "tensorboard", pytest.param("archive", marks=pytest.mark.nightly)]
)
def app(request: pytest.FixtureRequest, logdir: Path) -> Flask:
    """The application as `serve` and TensorBoard run it, and over an archive of the same runs."""
    if request.param == "serve":
        return create_app(logdir, port=6016)
    if request.param == "tensorboard":
        return create_app(logdir, mode="plugin")
    archive = logdir.parent / "sent.tap.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for file in sorted(logdir.rglob("*")):
            out.write(file, file.relative_to(logdir))
    return create_app(archive, port=6016)


def concrete(app: Flask, client: Client, *, failing: bool = True) -> Iterator[str]:
    """An address for every route and run, with what its parameters need, and with what nobody meant."""
    rules = sorted(rule.rule for rule in app.url_map.iter_rules())
    assert len(rules) > 20
    runs = [run["id"] for run in client.get("/api/runs", headers=OWN).get_json()["runs"]]
    for rule in rules:
        for run in (*runs, "gone", "..%2f..", "__proto__"):
            graphs = client.get(f"/api/runs/{run}/graphs", headers=OWN).get_json().get("graphs", [])
            names = {"run": run, "graph": graphs[0]["id"] if graphs else "none", "step": "1"}
            names |= {"node": "dense/MatMul", "file": "..%2f..%2fetc%2fpasswd"}
            path = re.sub(r"<(?:[^:<>]+:)?(\w+)>", lambda match, names=names: names[match[1]], rule)
            last = rule.rpartition("/")[2]
            queries = odd(last) if failing and run in (runs[0], runs[-1]) else ()
            yield from (f"{path}?{query}" for query in ("", QUERIES.get(last, ""), *queries))
            if "<run>" not in rule:
                break


def odd(last: str) -> Iterator[str]:
    """Queries that fail."""
    for name in ("step", "tensor", "node", "file", "graph", "where", "match", "scope", "since", "selection"):
        for value in ("9" * 40, "(", "\x00", "../../../etc/passwd", WEAPONS["script"], "A" * 5000):
            yield f"{QUERIES.get(last, 'x=1')}&{name}={quote(value)}"


def check(answer: TestResponse, logdir: Path, address: str) -> None:
    reported = answer.get_data() + repr(answer.headers.to_wsgi_list()).encode()
    for secret in (logdir.parent.name, str(Path.home())):
        assert secret.encode() not in reported, address
    assert answer.status_code < 500, address
    if answer.status_code >= 400:
        assert not INSIDE.search(reported), address
        assert set(answer.get_json()) == {"error", "hint"}, address


def test_no_route_tells_a_path_or_a_traceback(
    app: Flask, logdir: Path, request: pytest.FixtureRequest
) -> None:
    served = request.node.callspec.params["app"] == "serve"
    client, asked = Client(app), 0
    for address in concrete(app, client, failing=served or request.config.getoption("nightly")):
        check(client.get(address, headers=OWN), logdir, address)
        asked += 1
    assert asked > 300


@pytest.mark.parametrize("foreign", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_every_route_refuses_other_hosts_and_origins(logdir: Path, foreign: dict[str, str]) -> None:
    """GIVEN any route, static files and errors too WHEN another site asks THEN 403."""
    app = create_app(logdir, port=6016)
    client = Client(app)
    for address in {address.partition("?")[0] for address in concrete(app, client, failing=False)} | {
        "/nothing",
        "/assets/x.js",
    }:
        for method in ("GET", "HEAD"):
            answer = client.open(address, method=method, headers=OWN | foreign)
            assert answer.status_code == 403, address
            assert b"MatMul" not in answer.get_data()


@pytest.mark.parametrize("name", ["FLASK_DEBUG", "FLASK_ENV", "WERKZEUG_DEBUG_PIN", "PYTHONDEVMODE"])
def test_debugging_by_the_environment_changes_nothing(
    logdir: Path, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "1")
    app = create_app(logdir, port=6016)

    def broken() -> str:
        raise RuntimeError(f"inside of {logdir}")

    app.add_url_rule("/broken", view_func=broken)
    answer = Client(app).get("/broken", headers=OWN)
    assert (answer.status_code, app.debug, app.testing) == (500, False, False)
    assert answer.get_json()["error"] == "Unexpected server error."
    assert str(logdir).encode() not in answer.get_data()
    assert "inside of" in caplog.text, "the terminal is told"
