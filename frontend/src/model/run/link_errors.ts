/** Messages about parts of an address that the run does not have. */

import { type DimMapping, fits, mappingText } from '../value/dims';
import type { GraphEntry, RunEntry, WorkerEntry } from '../wire/answers';
import { COLOUR_KINDS, type GraphData } from '../wire/graph';
import { NODE_STATISTICS } from '../wire/value_scale';
import type { StepRange } from './deep_link';

const MOST_NAMED = 3;

/** Parts of an address that may not exist in the run. */
export interface LinkRequest {
  run: string | null;
  graph: string | null;
  worker: string | null;
  step: number | null;
  /** Of a tensor at the current step. */
  tensor: string | null;
  visit: number | null;
  /** Layout of its dimensions. */
  dims: DimMapping | null;
  range: StepRange | null;
  /** The selected scope, those that are expanded, collapsed or ungrouped, a card of the layer view, and the colouring of the graph. */
  selected: string | null;
  scopes: readonly string[];
  layer: string | null;
  color: string | null;
  /** Unreadable parts of the address. */
  unread: readonly string[];
}

/** Reports unreadable parts of an address, as many as fit in a line, and the view shown in place of an unknown one. */
export function unreadText(parts: readonly string[], shownView: string): string | null {
  if (parts.length === 0) return null;
  const shown = parts.some((part) => part.startsWith('view=')) ? `. Showing ${shownView}.` : '';
  return `Ignored unknown URL ${parts.length > 1 ? 'parameters' : 'parameter'}: ${firstOf(parts)}${shown}`;
}

/** The first of several, as many as fit in a line. */
function firstOf(parts: readonly string[]): string {
  const more = parts.length > MOST_NAMED ? ` and ${parts.length - MOST_NAMED} more` : '';
  const named = parts.slice(0, MOST_NAMED).map((part) => (part.length > 40 ? `${part.slice(0, 39)}…` : part));
  return `${named.join(', ')}${more}`;
}

/** One line: which requested parts do not exist, and what is shown instead; null if all exist. */
export function missingInRun(
  asked: Pick<LinkRequest, 'graph' | 'worker' | 'step' | 'range'>,
  graphs: readonly Pick<GraphEntry, 'id'>[],
  workers: readonly Pick<WorkerEntry, 'id'>[],
  steps: readonly number[],
  shown: number | null,
): string | null {
  const lines: string[] = [];
  if (asked.graph !== null && graphs.length > 0 && !graphs.some((graph) => graph.id === asked.graph))
    lines.push(`The run has no graph ${asked.graph}: showing the one with the most snapshots.`);
  if (asked.worker !== null && workers.length > 0 && !workers.some((worker) => worker.id === asked.worker))
    lines.push(`The run has no worker ${asked.worker}: showing ${workers.length > 1 ? 'all workers' : 'its only worker'}.`);
  if (asked.range !== null && steps.length > 0 && !steps.some((step) => isWithin(step, asked.range!)))
    lines.push(`No step from ${asked.range.first} to ${asked.range.last} was captured; showing all steps.`);
  if (asked.step !== null && shown !== null && asked.step !== shown) lines.push(lostStep(asked.step, shown, steps));
  return lines.length === 0 ? null : lines.join(' ');
}

const isWithin = (step: number, { first, last }: StepRange): boolean => first <= step && step <= last;

function lostStep(asked: number, shown: number, steps: readonly number[]): string {
  const why = steps.includes(asked) ? 'is outside the step range' : 'was not captured';
  return `Step ${asked} ${why}: showing the nearest step, ${shown}.`;
}

/** Reports that a tensor has fewer iterations at a step, and which one is shown; null if it has it, or was not captured. */
export function missingVisit(
  asked: Pick<LinkRequest, 'tensor' | 'visit'>,
  step: number,
  visits: readonly number[],
  shown: number,
): string | null {
  if (asked.visit === null || visits.length === 0 || visits.includes(asked.visit)) return null;
  return `${asked.tensor} has no iteration ${asked.visit} at step ${step}; showing iteration ${shown}.`;
}

/** Reports that a layout of dimensions does not fit a tensor; null if it does. */
export function missingDims({ tensor, dims }: Pick<LinkRequest, 'tensor' | 'dims'>, shape: readonly number[]): string | null {
  if (dims === null || fits(dims, shape)) return null;
  return `dims=${mappingText(dims)} does not fit ${tensor} of shape [${shape.join(', ')}]; showing the default dimensions.`;
}

/** The same for the current graph; `scopes` are those that it does not have, and so is `node`. */
export function missingInGraph(
  asked: Pick<LinkRequest, 'scopes' | 'layer' | 'color'> & { node: string | null },
  hasLayer: (key: string) => boolean,
): string | null {
  const lines: string[] = [];
  if (asked.node !== null) lines.push(`The graph has no node ${asked.node}.`);
  if (asked.layer !== null && !hasLayer(asked.layer)) lines.push(`The graph has no layer ${asked.layer}; showing the whole model.`);
  if (asked.scopes.length > 0) lines.push(`The graph has no scope${asked.scopes.length > 1 ? 's' : ''} ${firstOf(asked.scopes)}.`);
  const [kind, statistic] = asked.color?.split(':') ?? [];
  if (kind !== undefined && !COLOUR_KINDS.some((known) => known === kind)) lines.push(`Unknown colouring "${asked.color}"; using Health.`);
  else if (kind === 'statistic' && !NODE_STATISTICS.some((known) => known === statistic))
    lines.push(`Unknown statistic "${statistic ?? ''}"; using Max |x|.`);
  return lines.length === 0 ? null : lines.join(' ');
}

/** Those of some scopes that a graph does not have. Of grouped blocks (`block_0..block_3`) the first block must exist. */
export function missingScopes({ paths, nodeCount }: Pick<GraphData, 'paths' | 'nodeCount'>, scopes: readonly string[]): string[] {
  const left = new Map(scopes.map((scope) => [scope.replace(/\.\.[^/]*$/, ''), scope]));
  for (let row = 0; row < nodeCount && left.size > 0; row++) {
    const path = paths.at(row);
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) left.delete(path.slice(0, at));
  }
  return [...left.values()];
}

/** Id of the run with an id, or with a name that only one run has; the input itself if there is none. */
export function resolveRunId(called: string, runs: readonly Pick<RunEntry, 'id' | 'name'>[]): string {
  if (runs.some((run) => run.id === called)) return called;
  const named = runs.filter((run) => run.name === called);
  return named.length === 1 && named[0] ? named[0].id : called;
}
