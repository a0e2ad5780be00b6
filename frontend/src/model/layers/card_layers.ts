/** The layer of each node, recorded or derived from name scopes, and the layers that are cards. */

import { DictColumn } from '../../lib/arrays/columns';
import type { GraphData, LayerCall } from '../wire/graph';
import { HEAVY, isOpScope, type OpTest } from './op_sets';

/** A layer that computes something itself and contains more layers than this is a model, whatever its class is called. */
const MOST_IN_ATOM = 12;

export class CardLayers {
  /** The layer of each row. */
  readonly layer: DictColumn;
  readonly recorded: boolean;
  /** By number of the layer: the path of its outermost card; null for a container's own nodes. */
  readonly cardPaths: readonly (string | null)[];
  /** The scopes that a node's call opened; null if its name does not show them. */
  readonly scopeAt: (row: number, path: string) => string | null;
  readonly callOf: ReadonlyMap<string, LayerCall>;
  /** Containers, with the number of different layers in each, counted up to one more than an atom may have. */
  private readonly containers = new Map<string, number>();
  private readonly atoms = new Set<string>();
  private readonly heavy = new Map<string, number>();

  /** `forward`: rows of the forward pass. */
  constructor(
    private readonly graph: GraphData,
    private readonly forward: readonly number[],
    private readonly opIs: OpTest,
  ) {
    this.callOf = new Map(graph.layerCalls.map((call) => [call.path, call]));
    this.recorded = forward.some((row) => graph.layers.at(row) !== '');
    const scopes = this.recorded ? null : this.scopeLayers();
    this.layer = scopes ? DictColumn.of(scopes.layer) : graph.layers;
    this.scopeAt = scopes ? (row) => scopes.scope[row]! : (row, path) => scopeOfCall(graph.names.at(row), path.split('/'));
    this.findContainers();
    this.cardPaths = this.layer.values.map((path) => (path === '' ? null : this.cardPath(path)));
  }

  /** Layers derived from the name scopes of nodes, if none were recorded. */
  private scopeLayers(): { layer: string[]; scope: string[] } {
    const { graph } = this;
    const [layer, scope]: [string[], string[]] = [new Array(graph.nodeCount).fill(''), new Array(graph.nodeCount).fill('')];
    const handles = new Set(['_Arg', 'VarHandleOp']);
    const opTypes = new Set(graph.opTypes.values);
    const known = new Map<string, [string, string]>();
    for (const row of this.forward) {
      if (this.opIs(row, handles)) continue;
      const name = graph.names.at(row);
      const prefix = name.slice(0, Math.max(0, name.lastIndexOf('/')));
      let found = known.get(prefix);
      if (!found) {
        const parts = prefix.split('/').filter((part) => part !== '' && !/^(?:Stateful)?PartitionedCall/.test(part));
        while (parts.length > 0 && isOpScope(parts[parts.length - 1]!, opTypes)) parts.pop();
        found = [parts.map((part) => part.replace(/(?<=.)_\d+$/, '')).join('/'), parts.join('/')];
        known.set(prefix, found);
      }
      [layer[row], scope[row]] = found;
    }
    return { layer, scope };
  }

  private findContainers(): void {
    const { codes, values } = this.layer;
    const [used, heavy] = [new Uint8Array(values.length), new Int32Array(values.length)];
    for (const row of this.forward) {
      used[codes[row]!] = 1;
      if (this.opIs(row, HEAVY)) heavy[codes[row]!]!++;
    }
    for (const [code, path] of values.entries()) {
      if (!used[code] || path === '') continue;
      this.heavy.set(path, heavy[code]!);
      for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) {
        const outer = path.slice(0, cut);
        const count = this.containers.get(outer) ?? 0;
        if (count > MOST_IN_ATOM) break; // and so have all around it
        this.containers.set(outer, count + 1);
      }
    }
    for (const path of this.containers.keys()) if (this.isAtom(path)) this.atoms.add(path);
  }

  /** A layer that contains layers is a card if it is one of Keras' (an attention, an RNN), else it is expanded. */
  private isAtom(path: string): boolean {
    const call = this.callOf.get(path);
    if (call) return call.builtin;
    return (this.heavy.get(path) ?? 0) > 0 && this.containers.get(path)! <= MOST_IN_ATOM;
  }

  private cardPath(path: string): string | null {
    for (let cut = path.indexOf('/'); cut > 0; cut = path.indexOf('/', cut + 1)) {
      const outer = path.slice(0, cut);
      if (this.atoms.has(outer)) return outer;
    }
    return this.containers.has(path) && !this.atoms.has(path) ? null : path;
  }
}

/** `m_1/enc/conv_2` of `m_1/enc/conv_2/Conv2D` for the path `m/enc/conv`; null if the name has no such scopes. */
export function scopeOfCall(name: string, path: readonly string[]): string | null {
  const parts = name.split('/');
  const scopes: string[] = [];
  let at = 0;
  for (const layer of path) {
    const wanted = layer.replace(/[^\w.-]/g, '_');
    let found = -1;
    for (let i = at; i < Math.min(at + 3, parts.length - 1) && found < 0; i++) {
      const part = parts[i]!;
      if (part === wanted || (part.startsWith(`${wanted}_`) && /^\d+$/.test(part.slice(wanted.length + 1)))) found = i;
    }
    if (found < 0) return null;
    scopes.push(parts[found]!);
    at = found + 1;
  }
  return scopes.join('/');
}
