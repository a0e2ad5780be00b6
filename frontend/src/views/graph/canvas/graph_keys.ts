/** The graph's keys: one row a key, for the help overlay and for the handler. */

import { type Direction, move } from '../../../model/graph/neighbours';
import { toggleAllBlockGroups, toggleBlockGroup, traceSelection } from './graph_commands';
import type { GraphView } from './graph_view';
import { clearSearch, nextBad, nextHit, nextTraced, zoomBy } from './navigation';

interface GraphKey {
  readonly keys: readonly string[];
  readonly does: string;
  /** Titles of the single keys of a row, for the command palette. */
  readonly each?: Readonly<Record<string, string>>;
  /** It needs a selection. */
  readonly selected?: boolean;
  /**
   * `event.key` to its action, which returns false if it has no effect now; rows without actions belong to the pointer or the search box.
   */
  readonly actions?: Readonly<Record<string, (model: GraphView) => unknown>>;
}

const ZOOM = 1.35;

export const GRAPH_KEYS: readonly GraphKey[] = [
  { keys: ['drag', 'Shift+wheel'], does: 'Pan' },
  {
    keys: ['wheel', 'pinch', '+', '-'],
    does: 'Zoom at the pointer (+ and -: at the selection or centre)',
    each: { '+': 'Zoom in', '-': 'Zoom out' },
    actions: {
      '+': (m) => zoomBy(m, ZOOM),
      '-': (m) => zoomBy(m, 1 / ZOOM),
    },
  },
  { keys: ['f'], does: 'Fit to view', actions: { f: (m) => m.fit() } },
  {
    keys: ['z'],
    selected: true,
    does: 'Centre on the selection',
    actions: { z: (m) => m.selected >= 0 && m.centre(m.shown(m.selected), true) },
  },
  { keys: ['/', 'Ctrl+F'], does: 'Search (Enter: next hit, Shift+Enter: previous)' },
  {
    keys: ['n', 'N'],
    does: 'Next / previous search hit or traced node',
    each: { n: 'Next search hit or traced node', N: 'Previous search hit or traced node' },
    actions: { n: (m) => nextHit(m, 1) || nextTraced(m, 1), N: (m) => nextHit(m, -1) || nextTraced(m, -1) },
  },
  {
    keys: ['m', 'M'],
    does: 'Next / previous node with NaN or Inf at this step',
    each: { m: 'Next node with NaN or Inf at this step', M: 'Previous node with NaN or Inf at this step' },
    actions: { m: (m) => nextBad(m, 1), M: (m) => nextBad(m, -1) },
  },
  {
    keys: ['i', 'd'],
    selected: true,
    does: 'Trace upstream / downstream',
    each: { i: 'Trace upstream', d: 'Trace downstream' },
    actions: { i: (m) => traceSelection(m, 'inputs'), d: (m) => traceSelection(m, 'outputs') },
  },
  {
    keys: ['b'],
    selected: true,
    does: 'Mark start, then end: show all paths between them',
    actions: { b: (m) => traceSelection(m, 'paths') },
  },
  {
    keys: ['↑', '↓'],
    does: 'Go to input / consumer',
    actions: { ArrowUp: (m) => moveSelection(m, 'up'), ArrowDown: (m) => moveSelection(m, 'down') },
  },
  {
    keys: ['←', '→'],
    does: 'Go to left / right neighbour',
    actions: { ArrowLeft: (m) => moveSelection(m, 'left'), ArrowRight: (m) => moveSelection(m, 'right') },
  },
  { keys: ['Enter', 'double click'], does: 'Expand or collapse the scope', actions: { Enter: toggleSelected } },
  { keys: ['Backspace'], selected: true, does: 'Go to parent scope', actions: { Backspace: selectOuter } },
  {
    keys: ['[', ']'],
    does: 'Collapse all / expand all',
    each: { '[': 'Collapse all', ']': 'Expand all' },
    actions: { '[': (m) => m.setAllOpen(false), ']': (m) => m.setAllOpen(true) },
  },
  {
    keys: ['u', 'U'],
    does: 'Ungroup / group repeated blocks (U: all)',
    each: { u: 'Ungroup / group repeated blocks', U: 'Ungroup / group all repeated blocks' },
    actions: { u: (m) => toggleBlockGroup(m, m.shown(m.selected)), U: toggleAllBlockGroups },
  },
  { keys: ['right click', 'Shift+F10'], does: 'Context menu' },
  { keys: ['c'], does: 'Show or hide control dependencies', actions: { c: (m) => m.setShowControl(!m.showControl.value) } },
  { keys: ['Esc'], does: 'Clear search, then trace, then selection', actions: { Escape: clearOne } },
];

const ACTIONS = new Map(GRAPH_KEYS.flatMap((row) => Object.entries(row.actions ?? {})));

/** Runs the action of a key; false if the graph has none. */
export function handleKey(model: GraphView, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const action = ACTIONS.get(event.key);
  return action !== undefined && action(model) !== false;
}

// Keyboard navigation of the graph.

/** Follows an arrow key; without a selection, starts at the first visible node. */
function moveSelection(model: GraphView, direction: Direction): void {
  const { drawing } = model;
  if (!drawing) return;
  const from = model.shown(model.selected);
  const to = from < 0 ? (drawing.tree.children[0] ?? -1) : move(drawing.tree, drawing.placed, model.neighboursOf(from), from, direction);
  if (to < 0) return;
  model.pick(to);
  model.centre(to, false);
}

/** Selects the scope around the selection. */
function selectOuter(model: GraphView): void {
  const { drawing, selected } = model;
  const scope = drawing && selected >= 0 ? drawing.tree.parent[selected]! : -1;
  if (!drawing || scope <= 0) return;
  model.pick(drawing.tree.nodeCount + scope);
  model.centre(model.selected, false);
}

/** Expands or collapses the selected scope. */
function toggleSelected(model: GraphView): void {
  const { drawing, selected } = model;
  if (drawing && selected >= drawing.tree.nodeCount) model.toggle(selected - drawing.tree.nodeCount);
}

/** Clears the search, else the trace, else the selection; false if there are none. */
function clearOne(model: GraphView): boolean {
  if (model.finder.text.value !== '') clearSearch(model);
  else if (model.tracer.found.value || model.pathStart.value !== null) model.events.trace(null, '');
  else if (model.selected >= 0) model.pick(-1);
  else return false;
  return true;
}
