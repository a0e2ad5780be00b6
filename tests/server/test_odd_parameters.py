"""Every parameter of every route with values nobody meant: an answer or a sentence, never a failure."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from small_dump import Api

ROUTES = {
    "snapshots": "graph worker node tensor match op_type layer dtype where step "
    "nonfinite kept sort limit offset",
    "history": "tensor graph worker steps visit limit",
    "workers": "tensor statistic graph steps limit",
    "histograms": "tensor graph worker steps visit scale bins low high limit merge",
    "value": "tensor step visit worker graph selection format low high",
    "nonfinite": "tensor step visit worker graph limit",
    "source": "file",
    "nodes": "node graph",
    "": "graph",
}
NEEDED = {"tensor": "dense/MatMul:0", "step": "1", "node": "dense/MatMul", "file": "train.py"}
NUMBERS = (
    "0 1 -1 2 1.5 nan inf -inf 1e400 1e308 -1e308 0x1 9223372036854775807 -9223372036854775808 " + "9" * 30
)
SELECTIONS = ": :: 1:2 1: ... 0,... 0,:,1 :,:,:,: ::0 ::-1 -1,-1 0:99999999999999999999999"
WORDS = (
    "é \x01 ' \" ( [a - None row shape -mean png json csv :0 a:99999999999 dense/Relu:0 float32 symlog visits"
)
CONDITIONS = ("nan > 0", "nan > 0 and", "mean >= 1e400", "size == 99999999999999999999", "a*" * 50)
ODD = ("", *NUMBERS.split(), *SELECTIONS.split(), *WORDS.split(" "), *CONDITIONS)


@pytest.mark.parametrize("route", ROUTES)
def test_odd_values(api: Api, first: str, route: str) -> None:
    names = ROUTES[route].split()
    needed = {name: value for name, value in NEEDED.items() if name in names and route != "snapshots"}
    for name in names:
        for odd in ODD:
            query = "&".join(f"{key}={quote(value, safe='')}" for key, value in {**needed, name: odd}.items())
            answer = api.client.get(f"{first}/{route}?{query}")
            assert answer.status_code in (200, 400, 404, 413), query
            if answer.content_type == "application/json":
                json.loads(answer.get_data(), parse_constant=pytest.fail)


def test_odd_values_of_comparisons(api: Api, first: str) -> None:
    run = first.rpartition("/")[2]
    for route, names in (
        ("diff", "a b step step_b worker worker_b where match sort all limit offset"),
        ("diff/value", "a b step step_b worker graph graph_b other visit what selection format low high"),
    ):
        for name in names.split():
            for odd in ODD[::3]:
                query = {
                    "a": run,
                    "b": run,
                    "step": "0",
                    "step_b": "1",
                    "tensor": NEEDED["tensor"],
                    name: odd,
                }
                text = "&".join(f"{key}={quote(value, safe='')}" for key, value in query.items())
                answer = api.client.get(f"/api/{route}?{text}")
                assert answer.status_code in (200, 400, 404, 413), text


@pytest.mark.parametrize(
    "path", ["%ff", "%00", "..", "%2e%2e%2f", "a%0ab", "'\"<script>", "%F0%9F%92%A9", "a" * 3000]
)
def test_odd_paths(api: Api, first: str, path: str) -> None:
    for address in (
        f"/{path}",
        f"/api/{path}",
        f"/api/runs/{path}",
        f"{first}/graphs/{path}",
        f"{first}/nodes/{path}",
    ):
        answer = api.client.get(address)
        assert answer.status_code == 404, address
        assert answer.content_type == "application/json"
