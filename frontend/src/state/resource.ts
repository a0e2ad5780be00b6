/** Data loaded from the provider, reloaded when its inputs change. */

import { batch, computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { NoAnswer } from '../api/provider';
import type { Lru } from '../lib/lru';
import { isAbort, LatestRequest } from '../lib/scheduling';

/** A held key repeats about every 33 ms; after this time without a repeat it was released. */
const REST_MS = 150;

/** Whether a held key moves along a list, or text is being typed: requests are throttled, and the address has no history entries. */
export const isRapidInput = signal(false);

let rest: ReturnType<typeof setTimeout> | undefined;

/** A key has repeated, or a letter was typed. */
export function noteRapidInput(): void {
  isRapidInput.value = true;
  clearTimeout(rest);
  rest = setTimeout(() => {
    isRapidInput.value = false;
  }, REST_MS);
}

/** Data loaded from the provider: the last data, whether newer data is loading, and the error. */
export interface Resource<T> {
  readonly data: ReadonlySignal<T | null>;
  readonly error: ReadonlySignal<Error | null>;
  readonly loading: ReadonlySignal<boolean>;
  reload(): void;
}

/** The request. `key` identifies it (null: none); data stays visible while `subject` is the same, even if the key changes. */
export interface Request {
  key: string;
  subject: string;
}

interface ResourceOptions<T> {
  /** Cached answers by key, for requests whose answer never changes. */
  cache?: Lru<string, T>;
}

/** While a key is held, at most one request per this time. */
const THROTTLE_MS = 150;

/**
 * Loads when the request changes; a newer request aborts the pending one, and only the newest answer counts. `show`: displays a part of
 * the answer while the rest is loading.
 */
export function resource<R extends Request, T>(
  request: ReadonlySignal<R | null>,
  load: (request: R, abort: AbortSignal, show: (part: T) => void) => Promise<T>,
  options: ResourceOptions<T> = {},
): Resource<T> {
  const held = signal<{ subject: string; value: T } | null>(null);
  // Compared with the request itself, so that no effect sees data of the previous subject, in any order.
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

  const show = (value: T) => {
    if (subject !== null) held.value = { subject, value };
  };

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
    load(wanted, abort, show).then(
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

/** Failed requests, as functions that repeat them. */
const waiting = new Set<() => void>();

/** Registers the outcome of a request: one without an answer is repeated by `again` when the server answers another. */
export function noteAnswer(error: Error | null, again: () => void): void {
  if (error instanceof NoAnswer) waiting.add(again);
  else waiting.delete(again);
}

/** The server answers: pending requests are repeated. */
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
 * Prefetches the steps around the current one into a cache, nearest first, one after the other. `requestAt` returns the request of the
 * step at an offset, null if there is none. Stops with the signal, and at the first error: that step is requested again when it is shown.
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
