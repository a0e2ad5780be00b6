"""Asking a TensorBoard process."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class TensorBoard:
    """A running TensorBoard; `log` is what it printed."""

    root: str
    log: Path

    def get(self, path: str, **headers: str) -> Answer:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        request = urllib.request.Request(self.root + path, headers=named)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())


Start = Callable[..., TensorBoard]
