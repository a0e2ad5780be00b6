/** What can be done with an entity of the graph: the rows of its menu. */

import { NO_STACKS, stackPlace, withToggled } from '../../../model/graph/repeated_blocks';
import type { TraceKind } from '../../../model/graph/trace';
import { entityLabel, scopePath, stackBlocks } from '../../../model/graph/tree';
import type { GraphView } from './graph_view';

export interface Command {
  readonly label: string;
  /** The key that does the same to the selection. */
  readonly key?: string;
  readonly run: () => void;
}

export function commandsFor(model: GraphView, entity: number): Command[] {
  const { drawing } = model;
  if (!drawing || entity < 0) return [];
  const scope = entity - drawing.tree.nodeCount;
  const [stack, trace] = [stackCommands(model, entity), traceCommands(model, entity)];
  const own = scope > 0 ? [...scopeCommands(model, scope), ...stack, ...trace] : [...trace, ...stack];
  return [...own, ...bookmarkCommands(model, entity)];
}

function scopeCommands(model: GraphView, scope: number): Command[] {
  const { tree, placed, graph } = model.drawing!;
  const commands: Command[] = [{ label: placed.open[scope] ? 'Close' : 'Open', key: 'Enter', run: () => model.toggle(scope) }];
  if (!tree.stacks.has(scope)) return commands;
  const blocks = stackBlocks(tree, scope);
  const first = blocks[0]!;
  const name = entityLabel(tree, graph.paths, tree.nodeCount + first);
  const open = (which: readonly number[]) => () => model.openScopes([scope, ...which]);
  if (!placed.open[first]) commands.push({ label: `Open ${name} alone`, run: open([first]) });
  commands.push({ label: `Open all ${blocks.length} blocks`, run: open(blocks) });
  return commands;
}

function stackCommands(model: GraphView, entity: number): Command[] {
  const { tree, graph } = model.drawing!;
  const place = stackPlace(tree, graph.paths, entity);
  if (!place) return [];
  const blocks = shortName(place.path);
  return [{ label: place.stacked ? `Take ${blocks} apart` : `Stack ${blocks}`, key: 'u', run: () => toggleStack(model, entity) }];
}

/** Takes the stack apart that an entity is or is in, or puts its blocks onto a stack again; false where nothing repeats. */
export function toggleStack(model: GraphView, entity: number): boolean {
  const { drawing } = model;
  const place = drawing && stackPlace(drawing.tree, drawing.graph.paths, entity);
  if (!drawing || !place) return false;
  model.pick(entity);
  model.events.unstack(withToggled(drawing.tree, model.unstacked, place));
  return true;
}

/** Takes all stacks apart, or puts all together again. */
export function toggleAllStacks(model: GraphView): void {
  model.events.unstack(model.unstacked.length === 0 ? NO_STACKS : []);
}

function traceCommands(model: GraphView, entity: number): Command[] {
  const name = nameOf(model, entity);
  const start = model.pathStart.value;
  const trace = (kind: TraceKind) => () => model.events.trace(kind, name);
  return [
    { label: 'Trace what it depends on', key: 'i', run: trace('inputs') },
    { label: 'Trace what depends on it', key: 'd', run: trace('outputs') },
    {
      label: start === null || start === name ? 'Path from here …' : `Path from ${shortName(start)} to here`,
      key: 'b',
      run: trace('path'),
    },
  ];
}

function bookmarkCommands(model: GraphView, entity: number): Command[] {
  const { bookmark } = model.events;
  if (!bookmark) return [];
  const run = () => {
    model.pick(entity);
    bookmark();
  };
  return [{ label: 'Bookmark, or no longer', key: 'a', run }];
}

/** Traces the selection; false if there is none. */
export function traceSelection(model: GraphView, kind: TraceKind): boolean {
  if (!model.drawing || model.selected < 0) return false;
  model.events.trace(kind, nameOf(model, model.selected));
  return true;
}

/** A node's name, or a scope's path. */
function nameOf(model: GraphView, entity: number): string {
  const { tree, graph } = model.drawing!;
  const row = entity < tree.nodeCount ? entity : tree.owner[entity - tree.nodeCount]!;
  return row >= 0 ? graph.names.at(row) : scopePath(tree, graph.paths, entity - tree.nodeCount);
}

export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
