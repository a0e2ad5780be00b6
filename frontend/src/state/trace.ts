import { signal } from '@preact/signals';
import type { TraceKind } from '../model/graph/trace';
import { trace } from './choices';

/** Where a path will begin: it is chosen before its end. Not in the address, because nothing shows it but the next click. */
export const pathStart = signal<string | null>(null);

/** Shows a trace of a node or scope. A path takes two: the first time it begins, the second time it ends. */
export function startTrace(kind: TraceKind, name: string): void {
  if (kind !== 'path') {
    pathStart.value = null;
    trace.value = { kind, from: name, to: '' };
  } else if (pathStart.value === null || pathStart.value === name) pathStart.value = pathStart.value === null ? name : null;
  else {
    trace.value = { kind, from: pathStart.value, to: name };
    pathStart.value = null;
  }
}

export function clearTrace(): void {
  trace.value = null;
  pathStart.value = null;
}
