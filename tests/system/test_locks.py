"""Whether a worker's process is still there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tensortap.system.locks import is_gone

HERE = socket.gethostname()


def test_this_process_is_there_and_one_of_another_host_may_be() -> None:
    assert not is_gone(HERE, os.getpid())
    assert not is_gone("elsewhere", 1 << 22)
    assert is_gone(HERE, (1 << 31) - 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_a_killed_process_is_gone_although_its_parent_has_not_asked_yet() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert not is_gone(HERE, process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays unasked
        assert is_gone(HERE, process.pid)
