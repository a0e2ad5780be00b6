import { computing } from '../../state/replay/replay';
import { isDraftApplied, moveBy, moveOut, moveToNext, redoChange, undoChange } from '../../state/replay/replay_cursor';

interface StepperKey {
  readonly keys: readonly string[];
  readonly does: string;
  /** `event.key` to its action; with Ctrl (Cmd on a Mac), `Ctrl+` or `Ctrl+Shift+` and the lower-case letter. */
  readonly actions: Readonly<Record<string, () => unknown>>;
}

const focusBox = () => document.querySelector<HTMLElement>('.override-text')?.focus();

/** Keys while Replay has the focus. */
export const REPLAY_KEYS: readonly StepperKey[] = [
  { keys: ['↑', '↓'], does: 'Previous / next node', actions: { ArrowUp: () => moveBy(-1), ArrowDown: () => moveBy(1) } },
  { keys: ['PgUp', 'PgDn'], does: 'Ten nodes back / forward', actions: { PageUp: () => moveBy(-10), PageDown: () => moveBy(10) } },
  {
    keys: ['r', 'R'],
    does: 'Next / previous node that creates NaN or Inf',
    actions: { r: () => moveToNext('origin', 1), R: () => moveToNext('origin', -1) },
  },
  {
    keys: ['m', 'M'],
    does: 'Next / previous node with NaN or Inf',
    actions: { m: () => moveToNext('bad', 1), M: () => moveToNext('bad', -1) },
  },
  {
    keys: ['j', 'J'],
    does: 'Next / previous node changed by the what-if',
    actions: { j: () => moveToNext('changed', 1), J: () => moveToNext('changed', -1) },
  },
  { keys: ['x'], does: 'Step out of the scope', actions: { x: moveOut } },
  { keys: ['='], does: 'Change the tensor', actions: { '=': focusBox } },
  {
    keys: ['Ctrl+z', 'Ctrl+y'],
    does: 'Undo / redo',
    actions: { 'Ctrl+z': () => void undoChange(), 'Ctrl+y': () => void redoChange(), 'Ctrl+Shift+z': () => void redoChange() },
  },
];

/** Undo and redo work wherever the focus is: *Apply* is disabled while it computes, and so loses the focus. */
export function onUndoKey(event: KeyboardEvent): void {
  if (!event.defaultPrevented && (event.ctrlKey || event.metaKey)) onReplayKey(event);
}

export function onReplayKey(event: KeyboardEvent): void {
  const control = event.ctrlKey || event.metaKey;
  const field = event.target instanceof HTMLElement ? event.target.closest('input, select, textarea, [contenteditable]') : null;
  // Enter leaves the focus in the box; with nothing typed since, undo means the change.
  const typing = field !== null && !(control && field.matches('.override-text') && isDraftApplied());
  if (typing || event.altKey || computing.value !== null) return;
  const name = control ? `Ctrl+${event.shiftKey ? 'Shift+' : ''}${event.key.toLowerCase()}` : event.key;
  const action = REPLAY_KEYS.find((row) => name in row.actions)?.actions[name];
  if (!action) return;
  event.preventDefault();
  action();
}
