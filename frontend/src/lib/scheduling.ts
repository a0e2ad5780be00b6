/** When work runs: at most every 100 ms, one request at a time, or in slices that let the page handle input in between. */

/** What scrolls by within that time is not worth asking for, or drawing. */
const THROTTLE_MS = 100;

/** Does what is newest: at once, but again only after a while, so that what changes without a rest is followed, and seldom. */
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

/** Runs one request at a time: starting another aborts the one under way. */
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

// Long work that lets the page handle what waits in between, so that typing goes on meanwhile.

/** Work that says by `yield` where it may pause; it returns what it comes to. */
export type SlicedWork<T> = Generator<void, T>;

/** Half a frame, so that a key typed meanwhile is drawn in time. */
const SLICE_MS = 8;

/** Whether a loop over rows may pause before this one: so many take far less than a piece. */
export const mayPause = (row: number): boolean => row % 1024 === 0;

/** What the work comes to, null once `signal` is aborted. What takes less than a piece never pauses. */
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

/** The same without a pause. */
export function runAtOnce<T>(work: SlicedWork<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value as T;
  }
}

/** Lets the page handle what waits; unlike a timer it is not slowed down. */
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
