"""A `tensortap serve` process, as the browser tests visit it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOKEN = "0123456789abcdef" * 3
ADDRESS = re.compile(r"(http://\S+/)\?token=\S+")


@dataclass(frozen=True)
class Site:
    """A running server: `url` is its page without the token, `logdir` what it serves."""

    url: str
    logdir: Path

    @property
    def start_url(self) -> str:
        """The address that a person opens first."""
        return f"{self.url}?token={TOKEN}"


Serve = Callable[..., Site]  # takes the arguments of `serving`


@contextmanager
def serving(logdir: Path, *options: str) -> Iterator[Site]:
    """`tensortap serve` in a process of its own, on a free port. `options` may be further log directories."""
    command = [sys.executable, "-m", "tensortap", "serve", "--port", "0", str(logdir), *options]
    environment = {**os.environ, "TENSORTAP_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            address = next(filter(None, map(ADDRESS.search, process.stdout)), None)
            assert address, "tensortap serve ended without printing its address"
            yield Site(address[1], logdir)
        finally:
            process.terminate()
