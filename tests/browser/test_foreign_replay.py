"""A page of another origin asks a server that may replay: the browser has the cookie, and nothing happens."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_page import TapPage
from browser_site import TOKEN, Site, serving
from playwright.sync_api import Browser
from small_dump import write_dump

from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording

# Everything that a page of another port of 127.0.0.1, hence of the same site, can send without being asked.
ATTACK = """async ([target, body]) => {
    const told = [];
    const tries = [
        {mode: 'no-cors', headers: {'Content-Type': 'text/plain'}},
        {mode: 'cors', headers: {'Content-Type': 'text/plain'}},
        {mode: 'cors', headers: {'Content-Type': 'application/json', 'X-Tensortap-Replay': '1'}},
    ];
    for (const how of tries)
        told.push(await fetch(target, {method: 'POST', credentials: 'include', body, ...how})
            .then((answer) => answer.type, () => 'refused'));
    navigator.sendBeacon(target, new Blob([body], {type: 'text/plain'}));
    return told;
}"""
FORM = """([target, body]) => {
    const form = Object.assign(document.createElement('form'),
        {method: 'POST', action: target, enctype: 'text/plain'});
    form.append(Object.assign(document.createElement('input'), {name: body, value: ''}));
    document.body.append(form);
    form.submit();
}"""


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that may replay, over a run with a recording."""
    logdir = tmp_path_factory.mktemp("logs")
    write_dump(logdir)
    write_recording(logdir / "exp" / "first", Recording("f", b"", (), 5))
    with serving(logdir, "--allow-replay") as site:
        yield site


@pytest.fixture(scope="module")
def evil() -> Iterator[str]:
    """An empty page of another port."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def ask(site: Site, path: str, body: object = None) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {TOKEN}", "X-Tensortap-Replay": "1"}
    headers |= {"Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(site.url + path, data, headers), timeout=20) as answer:
        found: dict[str, object] = json.loads(answer.read())
    return found


def test_another_origin_saves_nothing(browser: Browser, replaying: Site, evil: str) -> None:
    runs = ask(replaying, "api/runs")["runs"]
    assert isinstance(runs, list)
    run = next(each["id"] for each in runs if each["name"] == "exp/first")
    listed = ask(replaying, f"api/runs/{run}/recordings")["recordings"]
    assert isinstance(listed, list)
    recording = {"recording": listed[0]["id"]}
    body = json.dumps(recording | {"what_ifs": {"evil": [["x:0", "x"]]}})
    target = f"{replaying.url}api/replay/{run}/what-ifs"
    context = browser.new_context()
    page = context.new_page()
    TapPage(page).enter(replaying)  # the victim has the cookie
    assert TOKEN in [cookie["value"] for cookie in context.cookies(target)]
    page.goto(evil)
    assert page.evaluate(ATTACK, [target, body]) == ["refused"] * 3
    with page.expect_navigation() as navigation:
        page.evaluate(FORM, [target, body])
    assert (navigation.value.url, navigation.value.status) == (target, 403)
    context.close()
    assert ask(replaying, f"api/replay/{run}/what-ifs", recording) == {"what_ifs": {}}
    # It is the gate that refuses, not the lack of a cookie.
    mine = {"mine": [["x:0", "x"]]}
    assert ask(replaying, f"api/replay/{run}/what-ifs", recording | {"what_ifs": mine}) == {"what_ifs": mine}


def test_a_path_of_this_machine_is_no_recording(replaying: Site) -> None:
    runs = ask(replaying, "api/runs")["runs"]
    assert isinstance(runs, list)
    for name in ("../../../etc", str(Path.home()), "5-0-\x00", "%2e%2e"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(replaying, f"api/replay/{runs[0]['id']}/compute", {"recording": name})
        assert caught.value.code == 404
        assert str(replaying.logdir) not in caught.value.read().decode()
