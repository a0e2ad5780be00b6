/** Captured graphs for tests (fixtures/*.tsv: one node per line), and small ones in the same format. */

import { readFileSync } from 'node:fs';
import { DictColumn, TextColumn } from '../../lib/arrays/columns';
import type { FunctionInfo, GraphData, LayerCall } from '../wire/graph';
import { type LayerGraph, layerGraphOf } from './cards';
import { DataFlow } from './data_flow';
import { ROLES, type Role, rolesOf, type StepRoles } from './roles';

export interface Analysed {
  readonly graph: GraphData;
  readonly flow: DataFlow;
  readonly roles: StepRoles;
  readonly layers: LayerGraph;
}

export function captured(name: string, calls: readonly LayerCall[] = []): Analysed {
  return analysed(readFileSync(new URL(`./fixtures/${name}.tsv`, import.meta.url), 'utf8'), calls);
}

/** A graph whose nodes are `name op_type layer inputs`, inputs by names: `dense/MatMul MatMul net/dense x,dense/kernel`; it may return one. */
export function written(lines: readonly string[], shapes: Readonly<Record<string, string>> = {}, returned?: string): Analysed {
  const rows = lines.map((line) => line.split(/\s+/));
  const places = new Map(rows.map(([name], at) => [name, at]));
  const nodes = rows.map(([name, op, layer = '-', inputs = '', kind = '', variable = '']) => {
    const sources = inputs === '' || inputs === '-' ? [] : inputs.split(',').map((input) => `${places.get(input)}:0`);
    return [
      name,
      op,
      layer === '-' ? '' : layer,
      'step',
      op === 'VarHandleOp' ? 'resource' : 'float32',
      shapes[name!] ?? '8×4',
      '1',
      kind === '-' ? '' : kind,
      variable,
      sources.join(' '),
    ].join('\t');
  });
  const returns = returned === undefined ? [] : [places.get(returned), 0];
  const functions = { step: { caller: null, role: 'root', parent: '', returns } };
  return analysed([`#functions ${JSON.stringify(functions)}`, 'head', ...nodes, ''].join('\n'));
}

function analysed(text: string, calls: readonly LayerCall[] = []): Analysed {
  const lines = text.split('\n');
  const about = (name: string): string => lines.find((line) => line.startsWith(`#${name} `))?.slice(name.length + 2) ?? 'null';
  const nodes = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .slice(1)
    .map((line) => line.split('\t'));
  const column = (at: number): string[] => nodes.map((node) => node[at] ?? '');
  const edges = nodes.flatMap((node, target) =>
    (node[9] ?? '')
      .split(' ')
      .filter(Boolean)
      .map((input, position) => [...input.split(':').map(Number), target, position]),
  );
  const edge = (at: number): Int32Array => Int32Array.from(edges, (one) => one[at]!);
  const names = TextColumn.of(column(0));
  const graph: GraphData = {
    id: 'g',
    name: 'step',
    nodeCount: nodes.length,
    names,
    paths: names,
    opTypes: DictColumn.of(column(1)),
    devices: DictColumn.of(column(0).map(() => '')),
    layers: DictColumn.of(column(2)),
    functions: DictColumn.of(column(3)),
    dtypes: DictColumn.of(column(4)),
    shapes: DictColumn.of(column(5)),
    slots: Int32Array.from(column(6), Number),
    kinds: DictColumn.of(column(7)),
    variables: DictColumn.of(column(8)),
    slotShapes: new Map(),
    frozen: JSON.parse(about('frozen')) ?? [],
    layerCalls: calls,
    edges: { source: edge(0), slot: edge(1), target: edge(2), input: edge(3), control: new Uint8Array(edges.length) },
    functionInfo: (JSON.parse(about('functions')) ?? {}) as Record<string, FunctionInfo>,
  };
  const flow = new DataFlow(graph);
  const roles = rolesOf(graph, flow);
  return { graph, flow, roles, layers: layerGraphOf(graph, flow, roles) };
}

export function roleNamed({ graph, roles }: Analysed, node: string): Role | undefined {
  for (let row = 0; row < graph.nodeCount; row++) if (graph.names.at(row) === node) return ROLES[roles.role[row]! - 1];
  throw new Error(`no node ${node}`);
}

/** How many nodes have each role. */
export function roleCounts({ roles }: Analysed): Record<Role, number> {
  const counts = Object.fromEntries(ROLES.map((role) => [role, 0])) as Record<Role, number>;
  for (const role of roles.role) counts[ROLES[role - 1]!]++;
  return counts;
}
