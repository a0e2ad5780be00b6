import type { TimelineRow } from '../../model/wire/timeline';
import { timelineScope } from '../../state/choices';
import { selectNode } from '../../state/selection';
import { toggleRow } from '../../state/tensors/timeline';

let hadKeys = false;

/** Rows of another scope take the place of those on show, and with them the keyboard where it was in the timeline. */
export function lookInto(scope: string): void {
  hadKeys = document.activeElement?.closest('.timeline') != null;
  timelineScope.value = scope;
}

/** Whether rows that have just come are to have the keyboard; tells so once. */
export function takesKeys(): boolean {
  const had = hadKeys;
  hadKeys = false;
  return had;
}

/** A node is selected, a scope is looked into, ops that differ by a number, and the rest of many, are listed. */
export function openRow(row: TimelineRow): void {
  if (row.node !== '') selectNode(row.node);
  else if (row.kind === 'scope') lookInto(row.path);
  else toggleRow(row);
}
