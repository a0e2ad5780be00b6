/** Scheduling: at most every 100 ms, one request at a time, or in slices between which the page handles input. */

/** Items that scroll by faster than this are neither requested nor drawn. */
const THROTTLE_MS = 100;

/** Runs the latest job at once, then at most once per interval, so that continuous changes are followed without flooding. */
export class Throttle {
  private last = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;

  run(act: () => void): void {
    this.cancel();
    const wait = this.last + THROTTLE_MS - performance.now();
    const now = () => {
      this.last = performance.now();
      act();
    };
    if (wait > 0) this.timer = setTimeout(now, wait);
    else now();
  }

  cancel(): void {
    clearTimeout(this.timer);
  }
}

/** Runs one request at a time: starting another aborts the pending one. */
export class LatestRequest {
  private controller: AbortController | null = null;

  start(): AbortSignal {
    this.controller?.abort();
    this.controller = new AbortController();
    return this.controller.signal;
  }

  cancel(): void {
    this.controller?.abort();
    this.controller = null;
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

// Long work in slices, between which the page handles input, so that typing continues.

/** Work that pauses at `yield` and returns its result. */
export type SlicedWork<T> = Generator<void, T>;

/** Half a frame, so that a typed key is drawn in time. */
const SLICE_MS = 8;

/** Whether a loop may pause before this row: this many rows take much less than a slice. */
export const mayPause = (row: number): boolean => row % 1024 === 0;

/** The result of the work; null once `signal` is aborted. Work shorter than a slice never pauses. */
export async function runInSlices<T>(work: SlicedWork<T>, signal: AbortSignal): Promise<T | null> {
  while (!signal.aborted) {
    const began = performance.now();
    do {
      const { done, value } = work.next();
      if (done) return value as T;
    } while (performance.now() - began < SLICE_MS);
    await pause();
  }
  return null;
}

/** The same without pauses. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value as T;
  }
}

/** Lets the page handle pending events; unlike a timer it is not throttled. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
