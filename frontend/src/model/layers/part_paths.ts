/** Where nodes are drawn in a part of the step: in the layer, or at the weight, that they serve. */

import { isAuxiliary } from '../graph/op_kinds';
import { type GraphData, rowOf } from '../wire/graph';
import { scopeOfCall } from './card_layers';
import type { LayerGraph } from './cards';
import { ASSIGN, isOpScope, READS, TAPE } from './op_sets';

/** Nodes of these types explain nothing where no layer or weight claims them. */
const PLUMBING = new Set(['AddN', 'Cast', 'ShapeN', 'ZerosLike', 'OnesLike', 'Fill']);
export const BOOKKEEPING_SCOPE = 'Bookkeeping';
export const OUTSIDE_SCOPE = 'Outside layers';

/** Scope of each row; null for a node that serves several. */
type Scopes = (string | null | undefined)[];

export type LayeredPart = 'forward' | 'backward' | 'optimizer';

/** The paths of the rows in `mask`, which are all of that part; those of other rows are undefined. */
export function pathsOfPart(graph: GraphData, layers: LayerGraph, mask: Uint8Array, part: LayeredPart): string[] {
  const scopes: Scopes = part === 'optimizer' ? new Array(graph.nodeCount) : layerScopes(graph);
  if (part === 'backward') claimByTape(graph, mask, scopes);
  else if (part === 'optimizer') claimByWeights(graph, layers, mask, scopes);
  const any = part !== 'forward' && scopes.some((scope) => typeof scope === 'string');
  for (let row = 0; any && row < graph.nodeCount; row++) {
    const op = graph.opTypes.at(row);
    if (mask[row] && !scopes[row] && (isAuxiliary(op) || PLUMBING.has(op))) scopes[row] = BOOKKEEPING_SCOPE;
  }
  return pathsIn(graph, mask, scopes);
}

/** The layer of each row that has one, in the program's words: `net/dense` of `net_1/dense_2`, `net/dense (call 2)` of its second call. */
function layerScopes(graph: GraphData): Scopes {
  const scopes: Scopes = new Array(graph.nodeCount);
  const [titles, calls] = [new Map<string, string>(), new Map<string, number>()];
  let last = { layer: '', begin: '/', scope: '' };
  for (let row = 0; row < graph.nodeCount; row++) {
    const layer = graph.layers.at(row);
    // Handles of variables are of no call, and `variables/net/dense/kernel` looks like one.
    if (layer === '' || graph.dtypes.at(row) === 'resource') continue;
    const path = graph.paths.at(row).replace(TAPE, '');
    if (layer !== last.layer || !path.startsWith(last.begin)) {
      const opened = scopeOfCall(path, layer.split('/'));
      last = { layer, begin: `${opened ?? ''}/`, scope: opened === null ? layer : titleOf(layer, opened, titles, calls) };
    }
    scopes[row] = last.scope;
  }
  return scopes;
}

/** The names of layers, each with the number of its call inside its container, if that is not the first. */
function titleOf(layer: string, opened: string, titles: Map<string, string>, calls: Map<string, number>): string {
  let [title, key] = ['', ''];
  const scopes = opened.split('/');
  for (const [depth, name] of layer.split('/').entries()) {
    key = `${key}/${name} ${scopes[depth]}`;
    const plain = title === '' ? name : `${title}/${name}`;
    if (!titles.has(key)) {
      const call = (calls.get(plain) ?? 0) + 1;
      calls.set(plain, call);
      titles.set(key, call > 1 ? `${plain} (call ${call})` : plain);
    }
    title = titles.get(key)!;
  }
  return title;
}

/** Gradients without a layer: the scopes within the tape's, else as their readers, else as what they read. */
function claimByTape(graph: GraphData, mask: Uint8Array, scopes: Scopes): void {
  const opTypes = new Set(graph.opTypes.values);
  const recorded = scopes.some((scope) => scope !== undefined);
  for (let row = 0; row < graph.nodeCount; row++) {
    if (!mask[row] || scopes[row] !== undefined) continue;
    const path = graph.paths.at(row);
    const inside = path.replace(TAPE, '');
    if (inside === path) continue;
    const within = inside.slice(0, Math.max(0, inside.lastIndexOf('/')));
    // Single ops between layers are many, and small.
    if (recorded && (within === '' || isOpScope(within.split('/')[0]!, opTypes)))
      scopes[row] = [OUTSIDE_SCOPE, within].filter(Boolean).join('/');
    else if (within !== '') scopes[row] = within;
  }
  const { source, target, control } = graph.edges;
  claimBySink(graph, mask, scopes, (known, found) => known ?? found);
  for (let edge = 0; edge < source.length; edge++) {
    const [from, to] = [source[edge]!, target[edge]!];
    if (mask[from] && mask[to] && !control[edge]) scopes[to] ??= scopes[from];
  }
}

/** The weight whose update a node computes; slots such as momentum belong to the weight whose update reads them. */
function claimByWeights(graph: GraphData, { cards }: LayerGraph, mask: Uint8Array, scopes: Scopes): void {
  const assigned = assignedVariables(graph, mask);
  const weights = new Map<string, string>();
  for (const { path, weights: own } of cards)
    for (const { variable } of own) weights.set(variable, `${path}/${variable.slice(variable.lastIndexOf('/') + 1)} update`);
  for (let row = 0; row < graph.nodeCount; row++) {
    if (!mask[row] || graph.kinds.at(row) !== 'update') continue;
    const variable = graph.variables.at(row);
    scopes[row] = weights.get(variable) ?? `${variable} update`;
    weights.set(variable, scopes[row]!);
  }
  for (const [row, variable] of assigned) scopes[row] ??= weights.get(variable);
  const join = (known: string | null | undefined, found: string | null | undefined) =>
    known === undefined || known === found ? found : null;
  claimBySink(graph, mask, scopes, join);
  const slots = new Map<string, string | null | undefined>();
  for (let row = 0; row < graph.nodeCount; row++) {
    const variable = graph.variables.at(row);
    if (mask[row] && variable !== '' && scopes[row] !== undefined && READS.has(graph.opTypes.at(row)))
      slots.set(variable, join(slots.get(variable), scopes[row]));
  }
  for (const [row, variable] of assigned) scopes[row] ??= slots.get(variable) ?? BOOKKEEPING_SCOPE;
  claimBySink(graph, mask, scopes, join);
}

/** Rows that assign to a variable, and its name. */
function assignedVariables(graph: GraphData, mask: Uint8Array): Map<number, string> {
  const { source, target, input } = graph.edges;
  const found = new Map<number, string>();
  for (let edge = 0; edge < source.length; edge++) {
    const to = target[edge]!;
    if (mask[to] && input[edge] === 0 && ASSIGN.test(graph.opTypes.at(to))) found.set(to, graph.variables.at(source[edge]!));
  }
  return found;
}

/** Gives rows without a scope that of their readers, which mostly have higher numbers. */
function claimBySink(
  { edges }: GraphData,
  mask: Uint8Array,
  scopes: Scopes,
  join: (known: Scopes[number], found: Scopes[number]) => Scopes[number],
): void {
  const { source, target, control } = edges;
  const claimed = scopes.map((scope) => scope !== undefined);
  for (let edge = source.length - 1; edge >= 0; edge--) {
    const [from, to] = [source[edge]!, target[edge]!];
    if (mask[from] && mask[to] && !control[edge] && !claimed[from] && scopes[to] !== undefined)
      scopes[from] = join(scopes[from], scopes[to]);
  }
}

function pathsIn(graph: GraphData, mask: Uint8Array, scopes: Scopes): string[] {
  const callers = new Map(
    Object.entries(graph.functionInfo).map(([name, { caller }]) => [name, caller === null ? -1 : rowOf(graph, caller)]),
  );
  const [paths, taken]: [string[], Set<string>] = [new Array(graph.nodeCount), new Set()];
  const optimizers = optimizerScopes(graph, mask);
  const pathOf = (row: number, depth: number): string => {
    const path = graph.paths.at(row);
    const caller = callers.get(graph.functions.at(row)) ?? -1;
    const outer = caller >= 0 && mask[caller] && depth < MOST_CALLS ? graph.paths.at(caller) : '';
    // The body of a loop stays below the node that calls it.
    if (outer !== '' && path.startsWith(`${outer}/`)) return pathOf(caller, depth + 1) + path.slice(outer.length);
    const scope = scopes[row];
    return scope ? `${scope}/${ownName(path, scope, graph.layers.at(row), optimizers)}` : path;
  };
  for (let row = 0; row < graph.nodeCount; row++) {
    if (!mask[row]) continue;
    const path = pathOf(row, 0);
    paths[row] = taken.has(path) && scopes[row] ? `${scopes[row]}/${graph.paths.at(row)}` : path;
    taken.add(paths[row]!);
  }
  return paths;
}

/** Functions may be recursive. */
const MOST_CALLS = 50;

/** Names of the scopes that hold all updates, like `adam`. */
function optimizerScopes(graph: GraphData, mask: Uint8Array): ReadonlySet<string> {
  const found = new Set<string>();
  for (let row = 0; row < graph.nodeCount; row++) {
    if (!mask[row] || graph.kinds.at(row) !== 'update') continue;
    const path = graph.paths.at(row);
    found.add(path.slice(0, Math.max(0, path.indexOf('/'))));
  }
  return found;
}

/** The part of a path that is left in a scope: `Relu/ReluGrad` of `gradient_tape/net_1/dense_1/Relu/ReluGrad`. */
function ownName(path: string, scope: string, layer: string, optimizers: ReadonlySet<string>): string {
  const inside = path.replace(TAPE, '');
  const scopeOfTape = scope.startsWith(`${OUTSIDE_SCOPE}/`) ? scope.slice(OUTSIDE_SCOPE.length + 1) : scope;
  const opened = inside.startsWith(`${scopeOfTape}/`) ? scopeOfTape : layer === '' ? null : scopeOfCall(inside, layer.split('/'));
  if (opened !== null && inside.startsWith(`${opened}/`)) return inside.slice(opened.length + 1);
  const cut = inside.indexOf('/');
  return cut > 0 && optimizers.has(inside.slice(0, cut)) ? inside.slice(cut + 1) : inside;
}
