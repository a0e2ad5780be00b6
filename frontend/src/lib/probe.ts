/**
 * `window.tensortap`: what is drawn on the canvas, for tests and the console (a canvas has no DOM). The graph pane registers what it
 * draws; the shell reports whether anything is loading.
 */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface GraphProbe {
  /** CSS pixel box of a drawn node or scope in client coordinates; null if it is not drawn. */
  node(name: string): Box | null;
  nodes(): string[];
  nodeState(name: string): { selected: boolean; nonfinite: boolean; color: string } | null;
  /** The current graph is laid out and drawn. */
  ready(): boolean;
}

const IDLE: GraphProbe = { node: () => null, nodes: () => [], nodeState: () => null, ready: () => true };

let graph: GraphProbe = IDLE;
let shellReady: () => boolean = () => false;

/** Called by the graph pane on mount; returns its cleanup. */
export function registerGraphProbe(probe: GraphProbe): () => void {
  graph = probe;
  return () => {
    if (graph === probe) graph = IDLE;
  };
}

export function installProbe(isReady: () => boolean): void {
  shellReady = isReady;
  Object.defineProperty(window, 'tensortap', {
    configurable: true,
    value: {
      get ready() {
        return shellReady() && graph.ready();
      },
      node: (name: string) => graph.node(name),
      nodes: () => graph.nodes(),
      nodeState: (name: string) => graph.nodeState(name),
    },
  });
}
