/** Steps beside the one on show, fetched ahead: whoever moves along the steps then waits for nobody. */

import { untracked } from '@preact/signals';
import type { Lru } from '../lib/lru';

interface StepRequest {
  readonly key: string;
}

/**
 * Fetches what is asked of the steps around, the nearest first and one after the other, into a cache.
 *
 * `requestAt` gives the request of the step so many steps on, null where there is none. Ends with the signal, and with the first
 * that fails: it is asked for again when it is shown.
 */
export async function prefetchAround<R extends StepRequest, V>(
  reach: number,
  requestAt: (offset: number) => R | null,
  cache: Lru<string, V>,
  load: (request: R, signal: AbortSignal) => Promise<V>,
  signal: AbortSignal,
): Promise<void> {
  for (let distance = 1; distance <= reach; distance++) {
    for (const offset of [distance, -distance]) {
      const request = signal.aborted ? null : untracked(() => requestAt(offset));
      if (request === null || cache.get(request.key) !== undefined) continue;
      try {
        cache.set(request.key, await load(request, signal));
      } catch {
        return;
      }
    }
  }
}
