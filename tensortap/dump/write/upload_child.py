"""Uploads the rest of an exiting process's spool, in a separate process with a job as its request.

The job comes that way, and not as arguments, because an address may contain secrets. Where the process that
started this one is killed, this one continues: it has the rest of a dump, and a deadline.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensortap.storage.uri import path_of
from tensortap.system.subprocess_worker import Channel

from .spool import Spool
from .upload import Uploader


def main() -> int:
    """0 if all was uploaded; the spool is removed then."""
    job = next(Channel().requests())
    spool = Spool(job["run"], 0, Path(job["spool"]))
    place = path_of(job["address"])
    uploader = Uploader(place, job["run"], spool, lambda: spool.parts(()), job["seconds"], job["there"])
    try:
        uploader.send_first(spool.parts(()))
        uploader.start()
        uploader.finish()
    except OSError as error:
        print(f"tensortap: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
