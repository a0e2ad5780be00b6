/** The worker's side of the protocol, without the worker, for tests. */

import { DictColumn, TextColumn } from '../lib/arrays/columns';
import { buildTree, scopeList } from '../model/graph/build_tree';
import { groupRepeatedBlocks } from '../model/graph/repeated_blocks';
import { findScope, type ScopeTree } from '../model/graph/tree';
import { layerGraphOf } from '../model/layers/cards';
import { DataFlow } from '../model/layers/data_flow';
import { rolesOf } from '../model/layers/roles';
import type { GraphData } from '../model/wire/graph';
import { LayoutEngine } from './engine';
import { chooseOpen } from './initial_expansion';
import { graphOfPlain, type LayersReply, type LayoutReply, type LayoutRequest, type LoadRequest } from './messages';

/** The worker yields to the event loop this often, so that a cancel is handled. */
const SLICE_MS = 40;

export class LayoutSession {
  private engine: LayoutEngine | undefined;
  private tree: ScopeTree | undefined;
  private cancelled = false;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly reply: (reply: LayoutReply) => void,
    private readonly breathe: () => Promise<void> = () => new Promise((resolve) => setTimeout(resolve)),
    private readonly sliceMs = SLICE_MS,
  ) {}

  /** Requests run one after the other; a cancel overtakes them. */
  receive(request: LayoutRequest): Promise<void> {
    if (request.type === 'cancel') {
      this.cancelled = true;
      return this.queue;
    }
    this.queue = this.queue
      .then(() => this.work(request))
      .catch((error: unknown) => this.reply({ type: 'failed', message: String(error) }));
    return this.queue;
  }

  private async work(request: LayoutRequest): Promise<void> {
    this.cancelled = false;
    if (request.type === 'layers') this.reply(layersOf(graphOfPlain(request.graph)));
    else if (request.type === 'scopes') this.reply({ type: 'scopes', ...scopeList(graphOfPlain(request.graph)) });
    else if (request.type === 'load') await this.load(request);
    else if (request.type === 'open') await this.setOpen(request.scopes === 'all' ? this.allScopes() : request.scopes, request.open);
  }

  private async load(request: LoadRequest): Promise<void> {
    const paths = new TextColumn(request.paths.offsets, request.paths.bytes);
    const shapes = new DictColumn(request.shapes.codes, request.shapes.values);
    const opTypes = new DictColumn(request.opTypes.codes, request.opTypes.values);
    const plain = buildTree({ paths, opTypes, callers: new Set(request.callers) });
    const { tree, meta } = groupRepeatedBlocks(plain, { paths, opTypes, edges: request.edges, ungrouped: request.ungrouped });
    this.tree = tree;
    this.engine = new LayoutEngine({ tree, meta, columns: { paths, shapes, opTypes } });
    const open = request.open ? this.scopesAt(request.open, paths) : chooseOpen(tree, paths, opTypes);
    this.engine.setOpen(open, true);
    // Without edges there is no data flow to prefer: use the whole graph.
    const focus = request.open || request.edges.source.length === 0 ? 0 : (open[0] ?? 0);
    this.reply({ type: 'loaded', tree, meta, update: this.engine.relayoutNow(), focus });
  }

  /** Scopes with these paths, and their ancestors. */
  private scopesAt(open: readonly string[], paths: TextColumn): number[] {
    const tree = this.tree!;
    if (open.includes('*')) return this.allScopes();
    const scopes: number[] = [];
    for (const path of open) {
      for (let scope = findScope(tree, paths, path); scope > 0; scope = tree.parent[tree.nodeCount + scope]!) scopes.push(scope);
    }
    return scopes;
  }

  private async setOpen(scopes: readonly number[], open: boolean): Promise<void> {
    const { engine } = this;
    if (!engine) return;
    const changing = scopes.filter((scope) => engine.open[scope] !== (open ? 1 : 0));
    engine.setOpen(changing, open);
    const total = engine.shownDirty().length;
    const run = engine.relayout();
    let rested = performance.now();
    for (let step = run.next(); ; step = run.next()) {
      if (step.done) {
        this.reply({ type: 'update', update: step.value });
        return;
      }
      if (performance.now() - rested < this.sliceMs) continue;
      this.reply({ type: 'progress', done: step.value, total });
      await this.breathe();
      rested = performance.now();
      if (this.cancelled) break;
    }
    engine.setOpen(changing, !open);
    this.reply({ type: 'update', update: engine.relayoutNow() });
  }

  private allScopes(): number[] {
    return Array.from({ length: (this.tree?.scopeCount ?? 1) - 1 }, (_, i) => i + 1);
  }
}

function layersOf(graph: GraphData): LayersReply {
  const flow = new DataFlow(graph);
  const roles = rolesOf(graph, flow);
  return { type: 'layers', layers: layerGraphOf(graph, flow, roles), roles: roles.role };
}
