import { useCallback, useEffect, useRef } from 'preact/hooks';
import { rowAfterKey } from '../../lib/keyboard';
import { isAbort } from '../../lib/scheduling';
import { scrollScale, scrollTo } from '../../lib/virtual_scroll';
import type { Snapshot } from '../../model/wire/answers';
import { chosenTensor, chosenVisit } from '../../state/page/choices';
import { noteRapidInput } from '../../state/resource';
import { goTo } from '../../state/selection';
import { step } from '../../state/steps';
import type { SnapshotPages } from '../../state/tensors/tensor_list';

/** Height of a row, and of the sticky head, in pixels. */
export const ROW = 28;

export function isSelected(row: Snapshot): boolean {
  return row.tensor === chosenTensor.value && row.step === step.value && (chosenVisit.value ?? row.visit) === row.visit;
}

function select(row: Snapshot): void {
  goTo({ tensor: row.tensor, step: row.step, visit: row.visit });
}

/** The table's scrolling element, and how high it is. */
interface Scroller {
  readonly ref: { current: HTMLElement | null };
  readonly height: number;
}

/** Scrolls to a hidden row: for keys by as little as possible, otherwise to the middle. */
function bringIntoView({ ref, height }: Scroller, index: number, total: number, by: 'key' | 'jump'): void {
  const element = ref.current;
  if (!element) return;
  const room = height - ROW;
  const scale = scrollScale(room, ROW, total);
  const shown = element.scrollTop * scale;
  if (index * ROW >= shown && (index + 1) * ROW <= shown + room) return;
  if (by === 'jump') element.scrollTop = scrollTo(index, room, ROW, total);
  else element.scrollTop = (index * ROW < shown ? index * ROW : (index + 1) * ROW - room) / scale;
}

/** Index of the selected row, kept while it is out of view; `go` selects another one, `onKey` handles keys. */
export function useSelectedRow(list: SnapshotPages, scroller: Scroller) {
  const at = useRef<number | null>(null);
  const wanted = useRef<number | null>(null);
  // A stable function, so that unchanged rows are not redrawn.
  const go = useCallback(
    (index: number) => {
      const row = list.row(index);
      wanted.current = row === null ? index : null;
      if (row === null) return list.load(index, index + 1);
      at.current = index;
      select(row);
    },
    [list],
  );
  useEffect(() => {
    if (wanted.current !== null && list.row(wanted.current) !== null) go(wanted.current);
  }, [list, list.arrived.value]);
  useShownSelection(list, scroller, at);
  const onKey = (event: KeyboardEvent, first: number) => {
    const from = wanted.current ?? at.current;
    const index = rowAfterKey(event.key, from ?? first, list.total, Math.floor(scroller.height / ROW) - 2);
    if (index === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (event.repeat) noteRapidInput();
    // The first key selects the topmost visible row.
    const next = from === null && event.key.startsWith('Arrow') ? first : index;
    bringIntoView(scroller, next, list.total, 'key');
    go(next);
  };
  return { go, onKey };
}

/** A selection from elsewhere, or from before the table opened, is scrolled into view; sorting and filtering do not scroll. */
function useShownSelection(list: SnapshotPages, scroller: Scroller, at: { current: number | null }): void {
  const shown = useRef('');
  const [tensor, wantedStep] = [chosenTensor.value, step.value];
  useEffect(() => {
    const key = `${tensor} ${wantedStep}`;
    const known = at.current === null ? null : list.row(at.current);
    if (known !== null && isSelected(known)) shown.current = key;
    if ((known !== null && isSelected(known)) || scroller.height === 0) return;
    at.current = null;
    if (tensor === null || wantedStep === null) return;
    const abort = new AbortController();
    list
      .place(tensor, wantedStep, abort.signal)
      .then((place) => {
        at.current = place;
        if (place !== null && shown.current !== key) bringIntoView(scroller, place, list.total, 'jump');
        shown.current = key;
      })
      // Its position is optional: the rows themselves report server errors.
      .catch((error) => {
        if (!isAbort(error) && !abort.signal.aborted) at.current = null;
      });
    return () => abort.abort();
  }, [list, tensor, wantedStep, scroller.height === 0]);
}
