/** Actions on an entity of the graph: the rows of its menu. */

import { blockGroupPlace, NONE_GROUPED, withToggled } from '../../../model/graph/repeated_blocks';
import type { TraceKind } from '../../../model/graph/trace';
import { entityLabel, groupedBlocks, scopePath } from '../../../model/graph/tree';
import type { GraphView } from './graph_view';

interface Command {
  readonly label: string;
  /** The key with the same effect on the selection. */
  readonly key?: string;
  readonly run: () => void;
}

export function commandsFor(model: GraphView, entity: number): Command[] {
  const { drawing } = model;
  if (!drawing || entity < 0) return [];
  const scope = entity - drawing.tree.nodeCount;
  const [stack, trace] = [blockGroupCommands(model, entity), traceCommands(model, entity)];
  const own = scope > 0 ? [...scopeCommands(model, scope), ...stack, ...trace] : [...trace, ...stack];
  return [...own, ...bookmarkCommands(model, entity)];
}

function scopeCommands(model: GraphView, scope: number): Command[] {
  const { tree, placed, graph } = model.drawing!;
  const commands: Command[] = [{ label: placed.open[scope] ? 'Collapse' : 'Expand', key: 'Enter', run: () => model.toggle(scope) }];
  if (!tree.blockGroups.has(scope)) return commands;
  const blocks = groupedBlocks(tree, scope);
  const first = blocks[0]!;
  const name = entityLabel(tree, graph.paths, tree.nodeCount + first);
  const open = (which: readonly number[]) => () => model.openScopes([scope, ...which]);
  if (!placed.open[first]) commands.push({ label: `Expand only ${name}`, run: open([first]) });
  commands.push({ label: `Expand all ${blocks.length} blocks`, run: open(blocks) });
  return commands;
}

function blockGroupCommands(model: GraphView, entity: number): Command[] {
  const { tree, graph } = model.drawing!;
  const place = blockGroupPlace(tree, graph.paths, entity);
  if (!place) return [];
  const blocks = shortName(place.path);
  return [{ label: place.grouped ? `Ungroup ${blocks}` : `Group ${blocks}`, key: 'u', run: () => toggleBlockGroup(model, entity) }];
}

/** Ungroups or regroups the repeated blocks around an entity; false if there are none. */
export function toggleBlockGroup(model: GraphView, entity: number): boolean {
  const { drawing } = model;
  const place = drawing && blockGroupPlace(drawing.tree, drawing.graph.paths, entity);
  if (!drawing || !place) return false;
  model.pick(entity);
  model.events.ungroup(withToggled(drawing.tree, model.ungrouped, place));
  return true;
}

/** Ungroups or regroups all repeated blocks. */
export function toggleAllBlockGroups(model: GraphView): void {
  model.events.ungroup(model.ungrouped.length === 0 ? NONE_GROUPED : []);
}

function traceCommands(model: GraphView, entity: number): Command[] {
  const name = nameOf(model, entity);
  const start = model.pathStart.value;
  const trace = (kind: TraceKind) => () => model.events.trace(kind, name);
  return [
    { label: 'Trace upstream', key: 'i', run: trace('inputs') },
    { label: 'Trace downstream', key: 'd', run: trace('outputs') },
    {
      label: start === null || start === name ? 'Paths from here …' : `Paths from ${shortName(start)} to here`,
      key: 'b',
      run: trace('paths'),
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
  return [{ label: 'Toggle bookmark', key: 'a', run }];
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
