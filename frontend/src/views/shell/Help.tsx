import { useEffect, useRef } from 'preact/hooks';
import { keyName } from '../../lib/keyboard';
import { SEARCH_FORMS } from '../../model/search/search_forms';
import { helpOpen } from '../../state/page/ui';
import { GRAPH_KEYS } from '../graph/canvas/graph_keys';
import { IconButton } from '../kit/Button';
import { REPLAY_KEYS } from '../replay/replay_keys';
import { KEYS, type KeyRow } from './page_keys';

/** Keys of the layer view. */
const LAYER_KEYS: readonly KeyRow[] = [
  { keys: ['f', '+', '-'], does: 'Fit to view; zoom' },
  { keys: ['↑', '↓', '←', '→'], does: 'Go to the nearest card, once one has the focus' },
  { keys: ['Enter', 'double click'], does: 'Expand a block / go to the ops of a layer' },
];

/** Actions of the timeline's row names. */
const TIMELINE_KEYS: readonly KeyRow[] = [
  { keys: ['↑', '↓', 'PgUp', 'PgDn', 'Home', 'End'], does: 'Move between rows; first / last row' },
  { keys: ['→', '←'], does: 'Expand row / go to first child; collapse / go to parent' },
  { keys: ['Enter'], does: 'Select node, expand scope' },
  { keys: ['Shift+←', 'Shift+→'], does: 'Previous / next step, from a row' },
];

/** Keys of lib/keyboard.ts. */
const TABLE_KEYS: readonly KeyRow[] = [
  { keys: ['↑', '↓', 'PgUp', 'PgDn'], does: 'Move between rows / elements' },
  { keys: ['Home', 'End'], does: 'First / last tensor; first / last element of the row' },
  { keys: ['←', '→', 'Ctrl+Home', 'Ctrl+End'], does: 'Move between elements; first / last element of the slice' },
];

const SEARCH_ROWS: readonly KeyRow[] = [
  { keys: ['block_0'], does: 'Substring of a name (falls back to fuzzy match)' },
  ...SEARCH_FORMS.map(({ form, does }) => ({ keys: [form], does })),
];

const close = () => {
  helpOpen.value = false;
};

/** The keys, in a modal dialog: the browser keeps the focus inside and gives it back. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="dialog" aria-label="Help" ref={dialog} onClose={close} onClick={(event) => event.target === dialog.current && close()}>
      <div class="dialog-card">
        <div class="row">
          <h2 class="grow">Keyboard shortcuts</h2>
          <IconButton icon="close" label="Close (Esc)" onClick={close} />
        </div>
        <h3>Everywhere</h3>
        <KeyTable rows={KEYS} />
        <h3>In Layers</h3>
        <KeyTable rows={LAYER_KEYS} />
        <h3>In Ops and the compared graphs</h3>
        <KeyTable rows={GRAPH_KEYS} />
        <h3>Search syntax</h3>
        <KeyTable rows={SEARCH_ROWS} />
        <h3>In tables</h3>
        <KeyTable rows={TABLE_KEYS} />
        <h3>In the timeline</h3>
        <KeyTable rows={TIMELINE_KEYS} />
        <h3>In Replay</h3>
        <KeyTable rows={REPLAY_KEYS} />
        <h3>Colours</h3>
        <p class="muted">
          Red is NaN, orange is Inf. The strip above the graph has a cell per step, coloured if any of its tensors is bad. The URL encodes
          this view. Teammates need access to this server; otherwise use Export.
        </p>
      </div>
    </dialog>
  );
}

function KeyTable({ rows }: { rows: readonly KeyRow[] }) {
  return (
    <ul class="key-table">
      {rows.map((row) => (
        <li key={row.does}>
          <span>{row.does}</span>
          <span class="keys">
            {row.keys.map((key) => (
              <kbd key={key}>{keyName(key)}</kbd>
            ))}
          </span>
        </li>
      ))}
    </ul>
  );
}
