/** Something loaded from the provider, cancelled and asked for again as its inputs change. */

import { batch, computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { NoAnswer } from '../api/provider';
import type { Lru } from '../lib/lru';
import { isAbort, LatestRequest } from '../lib/scheduling';

/** A held key repeats some 30 times a second; after so long without one it was let go. */
const REST_MS = 150;

/** Whether a held key flies along a list, or something is being typed: what it only passes is asked for now and then, and is no place that the address holds. */
export const isRapidInput = signal(false);

let rest: ReturnType<typeof setTimeout> | undefined;

/** A key has repeated, or one more letter was typed. */
export function noteRapidInput(): void {
  isRapidInput.value = true;
  clearTimeout(rest);
  rest = setTimeout(() => {
    isRapidInput.value = false;
  }, REST_MS);
}

/** Something loaded from the provider: the last data, whether newer data is on its way, and what went wrong. */
export interface Resource<T> {
  readonly data: ReadonlySignal<T | null>;
  readonly error: ReadonlySignal<Error | null>;
  readonly loading: ReadonlySignal<boolean>;
  reload(): void;
}

/** What to load. `key` names the request (null: nothing); data stays visible while `subject` does, even when the key changes. */
export interface Request {
  key: string;
  subject: string;
}

interface ResourceOptions<T> {
  /** Answers by key, for requests whose answer never changes. */
  cache?: Lru<string, T>;
}

/** While a held key flies by, one request in so long is enough to follow it. */
const THROTTLE_MS = 150;

/** Loads whenever the request changes; a newer request aborts the one under way, and only the newest answer is kept. */
export function resource<R extends Request, T>(
  request: ReadonlySignal<R | null>,
  load: (request: R, abort: AbortSignal) => Promise<T>,
  options: ResourceOptions<T> = {},
): Resource<T> {
  const held = signal<{ subject: string; value: T } | null>(null);
  // Compared with the request itself: when it changes, nobody sees data of the last subject, whichever effect runs first.
  const data = computed(() => (held.value !== null && held.value.subject === request.value?.subject ? held.value.value : null));
  const error = signal<Error | null>(null);
  const loading = signal(false);
  const reloads = signal(0);
  const latest = new LatestRequest();
  let subject: string | null = null;
  let key: string | null = null;
  let reloaded = 0;
  let begun = Number.NEGATIVE_INFINITY;
  let waiting: ReturnType<typeof setTimeout> | undefined;

  const reload = () => {
    reloads.value++;
  };

  const settle = (value: T | null, failure: Error | null) =>
    batch(() => {
      noteAnswer(failure, reload);
      if (value !== null || failure === null) held.value = value === null || subject === null ? null : { subject, value };
      error.value = failure;
      loading.value = false;
    });

  effect(() => {
    const wanted = request.value;
    const again = reloads.value;
    clearTimeout(waiting);
    if (wanted?.key === key && again === reloaded) return;
    const early = isRapidInput.value ? begun + THROTTLE_MS - performance.now() : 0;
    if (early > 0) {
      waiting = setTimeout(reload, early);
      return;
    }
    key = wanted?.key ?? null;
    reloaded = again;
    if (wanted === null || wanted.subject !== subject) {
      subject = wanted?.subject ?? null;
      settle(null, null);
    }
    if (wanted === null) {
      latest.cancel();
      return;
    }
    const known = options.cache?.get(wanted.key);
    if (known !== undefined) {
      latest.cancel();
      settle(known, null);
      return;
    }
    const abort = latest.start();
    begun = performance.now();
    loading.value = true;
    load(wanted, abort).then(
      (value) => {
        options.cache?.set(wanted.key, value);
        if (!abort.aborted) settle(value, null);
      },
      (failure: unknown) => {
        if (!abort.aborted && !isAbort(failure)) settle(null, failure instanceof Error ? failure : new Error(String(failure)));
      },
    );
  });

  return { data, error, loading, reload };
}

/** What nobody answered, as ways to ask again. */
const waiting = new Set<() => void>();

/** Notes how a request went: one without an answer is made again, by `again`, as soon as the server answers others. */
export function noteAnswer(error: Error | null, again: () => void): void {
  if (error instanceof NoAnswer) waiting.add(again);
  else waiting.delete(again);
}

/** The server answers: what waits for it is asked again. */
export function askAgain(): void {
  const all = [...waiting];
  waiting.clear();
  batch(() => {
    for (const again of all) again();
  });
}

interface StepRequest {
  readonly key: string;
}

/**
 * Prefetches the answers of the steps around the current one into a cache, the nearest first, one after the other.
 *
 * `requestAt` gives the request of the step at an offset, null where there is none. Stops with the signal, and at the first
 * error: that step is requested again when it is shown.
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
