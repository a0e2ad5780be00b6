"""The part of a tap that must end in order, even if the tap itself is forgotten."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from tensortap.core.text import counted

from .adapters.batch_samples import BatchSamples
from .instrument.call_hook import CALL_HOOK
from .pipeline.batch_writer import REFUSALS
from .recording.run_recordings import LEFT_OUT
from .step_capture import Outlet
from .warnings_once import print_line
from .watch import Watch


class Lifetime:
    """Installs the interceptor while it is in use, and closes the run.

    Args:
        watches: the tap's, for the last message.
        samples: the tap's, closed with it.
        run: name of the run, for the last message.
        close_seconds: how long to wait for what is still to be written.
    """

    def __init__(
        self, outlet: Outlet, watches: Sequence[Watch], samples: BatchSamples, run: str, close_seconds: float
    ) -> None:
        self._outlet = outlet
        self._samples = samples
        self._watches = watches
        self._run = run
        self._close_seconds = close_seconds
        self._uses = 0
        self._held = False
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.closed = False

    def use(self) -> None:
        """Installs the interceptor for one more use of the tap."""
        with self._lock:
            self._uses += 1
        CALL_HOOK.acquire()

    def hold(self) -> None:
        """Installs the interceptor until the lifetime is closed; further calls do nothing."""
        with self._lock:
            if self._held or self.closed:
                return
            self._held = True
        self.use()

    def unuse(self) -> None:
        """Undoes one `use`; does nothing once the lifetime is closed."""
        with self._lock:
            if self._uses == 0:
                return
            self._uses -= 1
        CALL_HOOK.release()

    def flush(self) -> bool:
        """Waits until all that was captured is committed; False if that took too long."""
        in_time = self._outlet.writer_thread.flush(self._close_seconds)
        return self._recorded() and in_time

    def _recorded(self) -> bool:
        recordings = self._outlet.recordings
        return recordings is None or recordings.flush(self._close_seconds)

    def close(self) -> None:
        """Writes what is left, closes the files, and says what was lost."""
        if self.closed:
            return
        self.closed = True
        while self._uses:
            self.unuse()
        if os.getpid() == self._pid:  # a forked child writes nothing that its parent does
            self._outlet.tell_if_nothing_was_captured(self._watches)
            self._outlet.tell_if_no_step_was_watched(self._watches)
        recorded = self._recorded()  # first: what is lost of it is noted in the run
        in_time = self._outlet.writer_thread.stop(self._close_seconds)
        if recorded:
            self._recorded()  # what a trigger chose last
        self._samples.close()
        if os.getpid() == self._pid:
            self._report_drops(in_time)

    def _report_drops(self, in_time: bool) -> None:
        dropped = self._outlet.writer_thread.dropped
        recordings = 0 if self._outlet.recordings is None else self._outlet.recordings.lost
        if dropped:
            verb = "was" if dropped == 1 else "were"
            kinds = {"snapshot": dropped - recordings, "recording": recordings}
            what = " and ".join(counted(count, kind) for kind, count in kinds.items() if count)
            print_line(f"{what} of run {self._run!r} {verb} dropped: {self._why(in_time)}")

    def _why(self, in_time: bool) -> str:
        """What most of the drops come from, and what helps against that."""
        writer_thread = self._outlet.writer_thread
        refusal = self._outlet.warnings.first_issued(*REFUSALS, *LEFT_OUT)
        if refusal and 2 * writer_thread.refused >= writer_thread.dropped:
            return refusal
        if writer_thread.alone:
            return (
                "no thread could be started to write them."
                " Raise the limit of threads (ulimit -u, or that of the container's processes)."
            )
        if not in_time:
            return (
                f"the writer needed more than {self._close_seconds:g} s to finish."
                " Watch fewer steps or tensors, or raise Tap(close_seconds=…)."
            )
        return (
            "they came faster than they could be written, or did not fit into memory."
            " Watch fewer steps or tensors, or raise Tap(queue_bytes=…, wait_seconds=…)."
        )
