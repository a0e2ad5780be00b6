/** The selected scope on the graph of ops: its content, and the trends of its norms. */

import { computed } from '@preact/signals';
import { graphScope } from '../../model/layers/parts';
import { type ScopeFacts, scopeFacts, tellingRow, weightsInside, worstTensor } from '../../model/layers/scope_facts';
import type { StackFrame } from '../../model/wire/answers';
import { chosenScope, chosenTensor } from '../page/choices';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runId, runRevision, workerId } from '../runs';
import { serverSteps, stepColumns } from '../steps';
import { graph, overlay } from './graph';
import { graphLayers, selectedItem } from './layers';
import { chosenDrawnScope, drawnGraph } from './parts';

interface SelectedScope extends ScopeFacts {
  /** In the drawn part of the step. */
  readonly path: string;
}

/** Null if no scope is selected, or the current graph does not have it. */
export const selectedScope = computed<SelectedScope | null>(() => {
  // Only then: drawing a part of 200,000 ops takes half a second, which the layer view does not need.
  const wanted = chosenScope.value !== null && chosenTensor.value === null;
  const [path, drawn] = wanted ? [chosenDrawnScope.value, drawnGraph.value] : [null, null];
  if (path === null || drawn === null) return null;
  const facts = scopeFacts(drawn, path);
  return facts.count > 0 ? { ...facts, path } : null;
});

/** Its path in the graph, by which its tensors are named; null if it is a scope of a part only. */
export const scopeInGraph = computed<string | null>(
  () => selectedScope.value && graphScope(graph.data.value, drawnGraph.value, selectedScope.value.path),
);

export const scopeWeights = computed(() => {
  const [scope, found] = [selectedScope.value, graphLayers.data.value];
  return scope && found && found.graph === graph.data.value ? weightsInside(found.layers, scope.inside) : [];
});

/** The most important tensor of the scope. */
export const scopeWorst = computed(() => selectedScope.value && worstTensor(selectedScope.value.inside, overlay.data.value));

/** The layer of most of its nodes. */
export const layerOfScope = computed<string | null>(() => {
  const [scope, found] = [selectedScope.value, graphLayers.data.value];
  if (!scope || !found || found.graph !== graph.data.value) return null;
  const counts = new Map<number, number>();
  scope.inside.forEach((is, row) => {
    const card = is ? (found.layers.cardOf[row] ?? -1) : -1;
    if (card >= 0) counts.set(card, (counts.get(card) ?? 0) + 1);
  });
  const [most] = [...counts].sort((a, b) => b[1] - a[1]);
  // The scopes of gradients and updates have the names of layers.
  const named = found.layers.cards.find(({ path }) => path === scope.path);
  return (most ? found.layers.cards[most[0]]?.path : named?.path) ?? null;
});

/** Path of the selected scope in the program's words: `net/dense` of `net_1/dense_2`. */
export const nameOfScope = computed<string>(() => {
  const [path, found] = [selectedScope.value?.path ?? '', graphLayers.data.value];
  const card = found?.layers.cards.find(({ kind, scope }) => kind === 'layer' && `${scope}/`.startsWith(`${path}/`));
  return card ? card.path.split('/').slice(0, path.split('/').length).join('/') : path;
});

/** Where in the program the selected scope or layer was made: its first computing node, or the output. */
export const madeAt = resource(
  computed(() => {
    const [run, id, scope, item, data] = [runId.value, graphId.value, selectedScope.value, selectedItem.value, graph.data.value];
    if (run === null || id === null || data === null) return null;
    const row = scope ? tellingRow(data, scope, scope.path) : (item?.output.row ?? -1);
    if (row < 0) return null;
    const node = data.names.at(row);
    const subject = `${run} ${id} ${node}`;
    return { key: subject, subject, run, graph: id, node };
  }),
  async ({ run, graph: id, node }, abort): Promise<StackFrame | null> => (await api().node(run, id, node, abort)).stack.at(-1) ?? null,
);

/** Maximum number of outputs and gradients with trends. */
export const MOST_LISTED = 40;

/** L2 norms of its outputs and of its weights' gradients over the steps, by row. */
export const scopeTrends = resource(
  computed(() => {
    const [run, id, scope] = [runId.value, graphId.value, selectedScope.value];
    if (run === null || id === null || scope === null || stepColumns.value.step.length < 2) return null;
    const gradients = scopeWeights.value.flatMap((weight) => weight.gradients.slice(0, 1));
    const rows = [...new Set([...scope.outputs.slice(0, MOST_LISTED).map(({ row }) => row), ...gradients.slice(0, MOST_LISTED)])];
    if (rows.length === 0) return null;
    const query = { nodes: rows.join(), statistic: 'l2', places: 48, worker: workerId.value, steps: serverSteps.value };
    const subject = `${run} ${id} ${scope.path}`;
    return { key: `${subject} ${runRevision.value} ${JSON.stringify(query)}`, subject, run, graph: id, query };
  }),
  ({ run, graph: id, query }, abort) => api().nodeTrends(run, id, query, abort),
);
