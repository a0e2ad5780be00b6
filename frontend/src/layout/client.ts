/** Talks to the layout worker. One client a graph: closing it ends the worker and all it was doing. */

import type { GraphData } from '../model/graph';
import { rowOf } from '../model/graph';
import { type LayoutReply, type LayoutRequest, loadRequest } from './messages';

/** A worker that waits for the next graph: starting one takes a tenth of a second. */
let idle: Worker | undefined;

export function prepareWorker(): void {
  idle ??= new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'tensortap layout' });
}

export class LayoutClient {
  private readonly worker: Worker;

  constructor(onReply: (reply: LayoutReply) => void) {
    prepareWorker();
    this.worker = idle!;
    idle = undefined;
    this.worker.onmessage = (event: MessageEvent<LayoutReply>) => onReply(event.data);
    this.worker.onerror = (event) => onReply({ type: 'failed', message: event.message || 'the layout worker could not be started' });
  }

  load(graph: GraphData, open: readonly string[] | null, unstacked: readonly string[]): void {
    this.send(loadRequest(graph, callerRows(graph), open, unstacked));
  }

  setOpen(scopes: readonly number[] | 'all', open: boolean): void {
    this.send({ type: 'open', scopes, open });
  }

  cancel(): void {
    this.send({ type: 'cancel' });
  }

  close(): void {
    this.worker.terminate();
  }

  private send(request: LayoutRequest): void {
    this.worker.postMessage(request);
  }
}

/** Nodes that call a function: their body is drawn as a scope in their place. */
function callerRows(graph: GraphData): number[] {
  const callers = new Set<number>();
  for (const { caller } of Object.values(graph.functionInfo)) {
    const row = caller === null ? -1 : rowOf(graph, caller);
    if (row >= 0) callers.add(row);
  }
  return [...callers];
}
