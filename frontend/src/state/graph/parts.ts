import { computed } from '@preact/signals';
import { drawnScope, graphOfPart, type Part, partsOf } from '../../model/layers/parts';
import type { GraphData } from '../../model/wire/graph';
import { chosenPart, chosenScope, openScopes, view } from '../page/choices';
import { graph } from './graph';
import { graphLayers } from './layers';

/** The parts of a step in the current graph; only `all` until they are known. */
export const parts = computed<readonly Part[]>(() => {
  const found = graphLayers.data.value;
  return found && found.graph === graph.data.value ? partsOf(found.graph, found.roles) : ['all'];
});

/** The visible part: the chosen one, else the forward pass. Replay shows all. */
export const part = computed<Part>(() => {
  const wanted = view.value === 'stepper' ? 'all' : (chosenPart.value ?? 'forward');
  return parts.value.includes(wanted) ? wanted : 'all';
});

/** Another part has other scopes. */
export function choosePart(next: Part): void {
  if (next === part.value) return;
  openScopes.value = null;
  chosenPart.value = next;
}

const made = new WeakMap<GraphData, Map<Part, GraphData>>();

/** The graph for drawing; null while its parts are being determined. */
export const drawnGraph = computed<GraphData | null>(() => {
  const [data, found] = [graph.data.value, graphLayers.data.value];
  const whole = chosenPart.value === 'all' || view.value === 'stepper' || graphLayers.error.value !== null;
  if (data === null || whole || part.value === 'all') return found?.graph === data || whole ? data : null;
  if (found?.graph !== data) return null;
  const known = made.get(data) ?? new Map<Part, GraphData>();
  made.set(data, known);
  if (!known.has(part.value)) known.set(part.value, graphOfPart(data, found.layers, found.roles, part.value));
  return known.get(part.value)!;
});

/** The selected scope as the drawn part names it; others, like those of the timeline, have the paths of the whole graph. */
export const chosenDrawnScope = computed<string | null>(() => {
  const [path, drawn] = [chosenScope.value, chosenScope.value === null ? null : drawnGraph.value];
  return path !== null && drawn !== null ? drawnScope(graph.data.value, drawn, path) : path;
});
