/** Tooltip of an entity or an edge of the graph: rows of a name and a value. */

import { formatBytes, formatCount, formatNumber } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { GraphData } from '../wire/graph';
import type { StepStatistics } from '../wire/step_statistics';
import type { MetaEdges } from './meta_edges';
import { bytesOfNode, FINE, INF, NAN, NOT_COUNTED } from './node_values';
import { blockGroupSize, entityLabel, type ScopeTree, scopePath } from './tree';

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly bad?: 'nan' | 'inf';
}

interface Description {
  readonly title: string;
  /** Whole name, if the title is shorter. */
  readonly name: string;
  readonly facts: readonly Fact[];
}

export interface Subject {
  readonly graph: GraphData;
  readonly tree: ScopeTree;
  readonly meta: MetaEdges;
  readonly health: Uint8Array;
  readonly step: StepStatistics | null;
  /** Rows of the step that belong to a node. */
  rowsOf(node: number): Iterable<number>;
}

export function describeEntity(subject: Subject, entity: number): Description {
  const { tree, graph } = subject;
  const title = visible(entityLabel(tree, graph.paths, entity));
  if (entity < tree.nodeCount) return { title, name: visible(graph.names.at(entity)), facts: nodeFacts(subject, entity) };
  const scope = entity - tree.nodeCount;
  const owner = tree.owner[scope]!;
  const name = owner >= 0 ? graph.names.at(owner) : scopePath(tree, graph.paths, scope);
  const facts: Fact[] = [{ name: 'nodes', value: formatCount(tree.nodesIn[scope]!) }];
  if (tree.blockGroups.has(scope)) facts.unshift({ name: 'repeated blocks', value: formatCount(blockGroupSize(tree, scope)) });
  if (owner >= 0) facts.push(...nodeFacts(subject, owner));
  else facts.push(...healthFact(subject.health[entity]!));
  return { title, name, facts };
}

function nodeFacts(subject: Subject, node: number): Fact[] {
  const { graph } = subject;
  const facts: Fact[] = [{ name: 'op type', value: graph.opTypes.at(node) }];
  const tensor = [graph.dtypes.at(node), graph.shapes.at(node)].filter(Boolean).join(' ');
  if (tensor) facts.push({ name: 'output', value: graph.slots[node]! > 1 ? `${tensor} and ${graph.slots[node]! - 1} more` : tensor });
  const bytes = bytesOfNode(graph, subject.step, subject.rowsOf(node), node);
  if (!Number.isNaN(bytes)) facts.push({ name: 'size', value: formatBytes(bytes) });
  if (graph.layers.at(node)) facts.push({ name: 'layer', value: graph.layers.at(node) });
  return [...facts, ...statisticFacts(subject, node)];
}

/** Statistics of the first output that was captured. */
function statisticFacts({ step, rowsOf }: Subject, node: number): Fact[] {
  if (!step) return [];
  for (const row of rowsOf(node)) {
    const at = (name: Parameters<StepStatistics['column']>[0]): number => step.column(name)[row]!;
    const facts: Fact[] = [];
    const size = Number.isNaN(at('size')) ? 'unknown' : formatCount(at('size'));
    if (at('nan') > 0) facts.push({ name: 'NaN', value: `${formatCount(at('nan'))} of ${size}`, bad: 'nan' });
    const inf = at('pos_inf') + at('neg_inf');
    if (inf > 0) facts.push({ name: 'Inf', value: `${formatCount(inf)} of ${size}`, bad: 'inf' });
    if (Number.isNaN(at('nan') + inf)) facts.push({ name: 'NaN, Inf', value: 'unknown' });
    if (!Number.isNaN(at('mean'))) {
      facts.push({ name: 'mean ± std', value: `${formatNumber(at('mean'))} ± ${formatNumber(at('std'))}` });
      facts.push({ name: 'min … max', value: `${formatNumber(at('min'))} … ${formatNumber(at('max'))}` });
    }
    return facts;
  }
  return [{ name: `step ${formatCount(step.step)}`, value: 'not captured' }];
}

const HEALTH: Record<number, string> = { [FINE]: 'fine', [NOT_COUNTED]: 'not counted' };

function healthFact(health: number): Fact[] {
  if (health === NAN) return [{ name: 'health', value: 'NaN inside', bad: 'nan' }];
  if (health === INF) return [{ name: 'health', value: 'Inf inside', bad: 'inf' }];
  return [{ name: 'health', value: HEALTH[health] ?? 'not captured' }];
}

/** A single edge shows its tensor, and the nodes that it joins if scopes hide them. */
export function describeEdge({ graph, tree, meta, step, rowsOf }: Subject, edge: number): Description {
  const label = (entity: number): string => visible(entityLabel(tree, graph.paths, entity));
  const facts: Fact[] = [];
  const [from, to, first] = [meta.source[edge]!, meta.target[edge]!, meta.edge[edge]!];
  const [source, target, slot] = [graph.edges.source[first]!, graph.edges.target[first]!, graph.edges.slot[first]!];
  if (meta.data[edge]! > 0 && meta.single[edge]) {
    facts.push({ name: 'tensor', value: visible(`${graph.names.at(source)}:${slot}`) });
    // The graph describes only the first output of a node; the current step describes every captured one.
    const captured = step ? [...rowsOf(source)].find((row) => step.slot[row] === slot) : undefined;
    const dtype = slot === 0 ? graph.dtypes.at(source) : captured === undefined ? '' : step!.dtype.at(captured);
    const type = [dtype, slot === 0 ? graph.shapes.at(source) : ''].filter(Boolean).join(' ');
    if (type) facts.push({ name: 'type', value: visible(type) });
    if (from >= tree.nodeCount) facts.push({ name: 'from', value: visible(graph.names.at(source)) });
    if (to >= tree.nodeCount && meta.data[edge] === 1) facts.push({ name: 'to', value: visible(graph.names.at(target)) });
  }
  if (meta.data[edge]! > 1) facts.push({ name: 'data edges', value: formatCount(meta.data[edge]!) });
  if (meta.control[edge]! > 0) facts.push({ name: 'control edges', value: formatCount(meta.control[edge]!) });
  return { title: `${label(from)} → ${label(to)}`, name: '', facts };
}
