import { batch, computed } from '@preact/signals';
import type { Trace, TraceKind } from '../../model/graph/trace';
import { drawnScope, graphOfPart, graphScope, type Part, partsOf } from '../../model/layers/parts';
import { scopeFacts } from '../../model/layers/scope_facts';
import type { GraphData } from '../../model/wire/graph';
import { bookmarkedPlaces } from '../page/bookmarks';
import { chosenPart, chosenScope, openScopes, trace, view } from '../page/choices';
import { pathStart, selectScope, startTrace } from '../selection';
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

/** Another part has other expanded scopes; the selected one stays selected if it is there, e.g. the layer of a gradient. */
export function choosePart(next: Part): void {
  if (next === part.value) return;
  const path = chosenDrawnScope.value;
  batch(() => {
    openScopes.value = null;
    chosenPart.value = next;
    if (path !== null && hasScope(drawnGraph.value, path)) selectDrawnScope(path);
  });
}

const hasScope = (drawn: GraphData | null, path: string): boolean =>
  drawn !== null && drawn !== graph.data.value && scopeFacts(drawn, path).count > 0;

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

/** Selects a scope by its path in the drawn part. Other views, and links, find it by its path in the graph. */
export function selectDrawnScope(path: string): void {
  selectScope(graphScope(graph.data.value, drawnGraph.value, path) ?? path);
}

/** The selected scope as the drawn part names it. */
export const chosenDrawnScope = computed<string | null>(() => {
  const [path, drawn] = [chosenScope.value, chosenScope.value === null ? null : drawnGraph.value];
  return path !== null && drawn !== null ? drawnScope(graph.data.value, drawn, path) : path;
});

/** Starts a trace of a node, or of a scope by its path in the drawn part. */
export function startDrawnTrace(kind: TraceKind, name: string): void {
  startTrace(kind, graphScope(graph.data.value, drawnGraph.value, name) ?? name);
}

/** The trace as the drawn part names its ends, and the start of a path without an end yet. */
export const drawnTrace = computed<Trace | null>(
  () => trace.value && { ...trace.value, from: drawnName(trace.value.from), to: drawnName(trace.value.to) },
);
export const drawnPathStart = computed<string | null>(() => pathStart.value && drawnName(pathStart.value));

const drawnName = (name: string): string => (drawnGraph.value ? drawnScope(graph.data.value, drawnGraph.value, name) : name);

/** Bookmarked nodes, and scopes (`path/`) as the drawn part names them. */
export const drawnBookmarks = computed<readonly string[]>(() => {
  const drawn = drawnGraph.value;
  if (drawn === null) return [];
  return bookmarkedPlaces.value.map((place) =>
    place.endsWith('/') ? `${drawnScope(graph.data.value, drawn, place.slice(0, -1))}/` : place,
  );
});
