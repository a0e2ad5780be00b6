import { counted } from '../../lib/format';
import type { GraphEntry, StepSpan } from '../wire/answers';

/** A graph in a menu. */
export interface GraphChoice {
  id: string;
  name: string;
  detail: string;
}

/** The graphs of a run for choosing: what was traced several times has one name, so names that occur twice get their steps. */
export function graphChoices(graphs: readonly GraphEntry[]): GraphChoice[] {
  const names = graphs.map((graph) => (graph.id === '-' ? 'without a graph' : graph.name || graph.id));
  return graphs.map((graph, i) => {
    const name = names[i] as string;
    const shared = names.indexOf(name) !== names.lastIndexOf(name);
    const captured = graph.snapshots === 0 ? 'no snapshots' : `${spanText(graph.steps)} · ${counted(graph.snapshots, 'snapshot')}`;
    return {
      id: graph.id,
      name: shared ? `${name} · ${graph.snapshots === 0 ? 'no snapshots' : spanText(graph.steps)}` : name,
      detail: `${captured} · ${counted(graph.nodes, 'node')}`,
    };
  });
}

function spanText({ first, last }: StepSpan): string {
  return first === last ? `step ${first}` : `steps ${first}…${last}`;
}
