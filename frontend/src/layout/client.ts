/** Talks to the layout worker. One client per graph: closing it ends the worker and its work. */

import { TextColumn } from '../lib/arrays/columns';
import type { ScopeList } from '../model/graph/build_tree';
import { callerRows, type GraphData } from '../model/wire/graph';
import { type LayersReply, type LayoutReply, type LayoutRequest, loadRequest, plainGraph } from './messages';
import { startWorker } from './start_worker';

/** A spare worker for the next graph: starting one takes a tenth of a second. */
let idle: Worker | undefined;

export function prepareWorker(): void {
  if (idle) return;
  const made = startWorker();
  // A worker that fails to load reports it once, before anybody listens. The next user starts another one and gets its error.
  made.onerror = () => {
    if (idle === made) idle = undefined;
  };
  idle = made;
}

/** Input of the layout: a graph, its expanded scopes (null: the worker chooses), and the ungrouped blocks. */
export interface LayoutJob {
  readonly graph: GraphData;
  readonly open: readonly string[] | null;
  readonly ungrouped: readonly string[];
}

/** A layout that was started ahead of its view. */
let begun: LayoutClient | undefined;

/** Starts a layout while its view is still being created. */
export function beginLayout(wanted: LayoutJob): void {
  begun?.close();
  begun = new LayoutClient(wanted);
}

/** The layout started ahead, if it is the requested one; else a new one. */
export function layoutOf(wanted: LayoutJob, onReply: (reply: LayoutReply) => void): LayoutClient {
  const client = begun?.does(wanted) ? begun : new LayoutClient(wanted);
  if (client !== begun) begun?.close();
  begun = undefined;
  client.listen(onReply);
  return client;
}

export class LayoutClient {
  private readonly worker: Worker;
  /** Messages of the worker before there was a listener. */
  private readonly unheard: LayoutReply[] = [];
  private onReply = (reply: LayoutReply): void => void this.unheard.push(reply);

  constructor(private readonly wanted: LayoutJob) {
    prepareWorker();
    this.worker = idle!;
    idle = undefined;
    this.worker.onmessage = (event: MessageEvent<LayoutReply>) => this.onReply(event.data);
    this.worker.onerror = (event) => this.onReply({ type: 'failed', message: event.message || 'the layout worker could not be started' });
    const { graph, open, ungrouped } = wanted;
    this.send(loadRequest(graph, callerRows(graph), open, ungrouped));
  }

  does({ graph, open, ungrouped }: LayoutJob): boolean {
    const { wanted } = this;
    return graph === wanted.graph && open?.join() === wanted.open?.join() && ungrouped.join() === wanted.ungrouped.join();
  }

  /** Calls `onReply` with each message of the worker; earlier ones follow when the caller has finished. */
  listen(onReply: (reply: LayoutReply) => void): void {
    this.onReply = onReply;
    for (const reply of this.unheard.splice(0)) queueMicrotask(() => onReply(reply));
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

const layersOf = new WeakMap<GraphData, Promise<LayersReply>>();

/** The layers of a graph and the parts of its step, computed once in a separate worker. */
export function computeLayers(graph: GraphData): Promise<LayersReply> {
  const known = layersOf.get(graph);
  if (known) return known;
  const answer = ask('layers', graph);
  layersOf.set(graph, answer);
  answer.catch(() => layersOf.delete(graph)); // the next request tries again
  return answer;
}

/** The scopes of a graph, computed in a separate worker. */
export async function computeScopes(graph: GraphData): Promise<ScopeList> {
  const { paths, nodes } = await ask('scopes', graph);
  return { paths: new TextColumn(paths.offsets, paths.bytes), nodes };
}

function ask<T extends 'layers' | 'scopes'>(type: T, graph: GraphData): Promise<Extract<LayoutReply, { type: T }>> {
  prepareWorker();
  const worker = idle!;
  idle = undefined;
  const answer = new Promise<Extract<LayoutReply, { type: T }>>((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || `the ${type} worker could not be started`));
    worker.onmessage = ({ data }: MessageEvent<LayoutReply>) => {
      if (data.type === type) resolve(data as Extract<LayoutReply, { type: T }>);
      else reject(new Error(data.type === 'failed' ? data.message : `the ${type} worker sent an unexpected answer`));
    };
  }).finally(() => worker.terminate());
  worker.postMessage({ type, graph: plainGraph(graph) } satisfies LayoutRequest);
  return answer;
}
