/** Keys of the timeline: movement along rows and steps, expanding scopes, selecting tensors. */

import { useEffect, useState } from 'preact/hooks';
import { rowAfterKey } from '../../lib/keyboard';
import { rowAround, type Timeline, type TimelineRow } from '../../model/wire/timeline';
import { timelineScope } from '../../state/page/choices';
import { selectNode } from '../../state/selection';
import { toggleRow } from '../../state/tensors/timeline';

export const ROW = 22;
export const AXIS = 20;

interface Scroller {
  ref: { current: HTMLElement | null };
  height: number;
}

const nameOf = ({ kind, path }: TimelineRow): string => `${kind} ${path}`;

/**
 * The active row, and the keys. The names are one element with the focus (`tree`), because rows come and go while scrolling. Keys with
 * Shift belong to the page: its arrows move between steps.
 */
export function useTreeKeys(timeline: Timeline, { ref, height }: Scroller, begins: number) {
  const [active, setActive] = useState('');
  const known = timeline.rows.findIndex((row) => nameOf(row) === active);
  const at = known < 0 ? Math.max(0, begins) : known;
  const go = (index: number) => {
    setActive(nameOf(timeline.rows[index] as TimelineRow));
    bringIntoView(ref.current, index, height);
  };
  useEffect(() => {
    if (takesKeys()) ref.current?.querySelector<HTMLElement>('[role=tree]')?.focus();
  }, [timeline.scope]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const row = timeline.rows[at] as TimelineRow;
    const next = rowAfterKey(event.key, at, timeline.rows.length, Math.floor((height - AXIS) / ROW) - 2);
    if (next !== null) go(next);
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') goAcross(timeline, at, event.key === 'ArrowRight', go);
    else if (event.key === 'Enter' || event.key === ' ') openRow(row);
    else return;
    event.preventDefault();
  };
  return { at, go, onKeyDown };
}

/** In: expands a row, or moves to its first child; out: collapses it, or moves to its parent. */
function goAcross(timeline: Timeline, at: number, inwards: boolean, go: (index: number) => void): void {
  const row = timeline.rows[at] as TimelineRow;
  const opens = row.kind !== 'node';
  if (opens && row.open !== inwards) toggleRow(row);
  else if (opens && inwards && (timeline.rows[at + 1]?.depth ?? 0) > row.depth) go(at + 1);
  else if (!inwards && rowAround(timeline, at) >= 0) go(rowAround(timeline, at));
}

function bringIntoView(scroller: HTMLElement | null, index: number, height: number): void {
  if (scroller === null) return;
  const [top, room] = [index * ROW, height - AXIS];
  scroller.scrollTop = Math.max(Math.min(scroller.scrollTop, top), top + ROW - room);
}

let hadKeys = false;

/** Shows the rows of another scope, and keeps the keyboard focus in the timeline. */
export function lookInto(scope: string): void {
  hadKeys = document.activeElement?.closest('.timeline') != null;
  timelineScope.value = scope;
}

/** Whether new rows should take the keyboard focus; true once. */
function takesKeys(): boolean {
  const had = hadKeys;
  hadKeys = false;
  return had;
}

/** Selects a node, opens a scope, or lists ops that differ by a number and the rest of many. */
export function openRow(row: TimelineRow): void {
  if (row.node !== '') selectNode(row.node);
  else if (row.kind === 'scope') lookInto(row.path);
  else toggleRow(row);
}
