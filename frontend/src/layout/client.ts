/** Talks to the layout worker. One client a graph: closing it ends the worker and all it was doing. */

import { callerRows, type GraphData } from '../model/wire/graph';
import { type LayersReply, type LayoutReply, type LayoutRequest, loadRequest, plainGraph } from './messages';
import { startWorker } from './start_worker';

/** A worker that waits for the next graph: starting one takes a tenth of a second. */
let idle: Worker | undefined;

export function prepareWorker(): void {
  if (idle) return;
  const made = startWorker();
  // One that cannot be loaded says so once, to nobody as yet: whoever needs it starts another, and hears why.
  made.onerror = () => {
    if (idle === made) idle = undefined;
  };
  idle = made;
}

/** What is laid out: a graph, which of its scopes are open (null: the worker chooses), which repeated blocks are not grouped. */
export interface LayoutJob {
  readonly graph: GraphData;
  readonly open: readonly string[] | null;
  readonly ungrouped: readonly string[];
}

/** The layout of a graph that is not on show yet. */
let begun: LayoutClient | undefined;

/** Has a graph laid out while what shows it is still being made. */
export function beginLayout(wanted: LayoutJob): void {
  begun?.close();
  begun = new LayoutClient(wanted);
}

/** The layout that was begun, if it is the wanted one; else a new one. */
export function layoutOf(wanted: LayoutJob, onReply: (reply: LayoutReply) => void): LayoutClient {
  const client = begun?.does(wanted) ? begun : new LayoutClient(wanted);
  if (client !== begun) begun?.close();
  begun = undefined;
  client.listen(onReply);
  return client;
}

export class LayoutClient {
  private readonly worker: Worker;
  /** What the worker said before anybody listened. */
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

  /** Tells `onReply` what the worker says; what it said so far as soon as the caller is done. */
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

/** The layers of a graph and the parts of its step, computed once in a worker of its own. */
export function computeLayers(graph: GraphData): Promise<LayersReply> {
  const known = layersOf.get(graph);
  if (known) return known;
  prepareWorker();
  const worker = idle!;
  idle = undefined;
  const answer = new Promise<LayersReply>((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || 'the worker that finds the layers could not be started'));
    worker.onmessage = ({ data }: MessageEvent<LayoutReply>) => {
      if (data.type === 'layers') resolve(data);
      else reject(new Error(data.type === 'failed' ? data.message : 'the worker answered something else'));
    };
  }).finally(() => worker.terminate());
  worker.postMessage({ type: 'layers', graph: plainGraph(graph) } satisfies LayoutRequest);
  layersOf.set(graph, answer);
  answer.catch(() => layersOf.delete(graph)); // asked again, it is tried again
  return answer;
}
