import { useEffect } from 'preact/hooks';
import { changesOf, READY_CHANGES } from '../../model/wire/what_ifs';
import { handleReads } from '../../state/graph/node';
import { chosenTensor } from '../../state/page/choices';
import { computing, shownStep } from '../../state/replay/replay';
import { changeError, draft, makeChange, redoChange, undoChange } from '../../state/replay/replay_cursor';
import { shownWhatIfs } from '../../state/replay/what_ifs';
import { HandleReads } from '../panel/panel_notices';

/** The replacement of the selected tensor `x`; applying it computes everything downstream. */
export function OverrideBox() {
  const tensor = chosenTensor.value;
  const facts = tensor === null ? null : (shownStep.value?.tensor(tensor) ?? null);
  const busy = computing.value !== null;
  useEffect(() => {
    changeError.value = null;
  }, [tensor]);
  const apply = (event: Event) => {
    event.preventDefault();
    if (tensor === null || draft.value.trim() === '' || busy) return;
    void makeChange({ tensor, expression: draft.value.trim() });
  };
  if (facts === null)
    return (
      <div class="override faint" data-testid="override-hint">
        {handleReads.value ? <HandleReads reads={handleReads.value} /> : <p>Select an output of a node to change it.</p>}
      </div>
    );
  return (
    <form class="override" aria-label="Change the tensor" onSubmit={apply}>
      <div class="row">
        <span class="mono">x =</span>
        <input
          class="field small mono grow override-text"
          value={draft.value}
          placeholder="clip(x, 0, 6)"
          aria-label="Expression over x"
          aria-invalid={changeError.value !== null}
          aria-describedby="override-error"
          spellcheck={false}
          maxLength={500}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
          }}
          data-testid="override"
        />
        <button type="submit" class="button small primary" disabled={busy} data-testid="apply">
          Apply
        </button>
      </div>
      <Ready />
      <p id="override-error" class="override-error" role="alert" data-testid="override-error">
        {changeError.value && `${changeError.value.message} ${changeError.value.hint}`}
      </p>
      <p class="faint">Tip: double-click an element in Value to edit it.</p>
    </form>
  );
}

/** Ready-made expressions, undo and redo. */
function Ready() {
  const busy = computing.value !== null;
  const whatIf = shownWhatIfs.value.all.find((each) => each.name === shownWhatIfs.value.current);
  return (
    <div class="row stepper-ready">
      <select
        class="select small"
        aria-label="Presets"
        value=""
        onChange={(event) => {
          const ready = READY_CHANGES.find(({ label }) => label === event.currentTarget.value);
          if (ready) draft.value = ready.text;
          event.currentTarget.value = '';
        }}
      >
        <option value="">Presets…</option>
        {READY_CHANGES.map(({ label }) => (
          <option key={label}>{label}</option>
        ))}
      </select>
      <span class="grow" />
      {changesOf(shownWhatIfs.value).length > 0 && (
        <button type="button" class="button small" disabled={busy} onClick={() => void undoChange()} data-testid="undo">
          Undo
        </button>
      )}
      {whatIf !== undefined && whatIf.undone.length > 0 && (
        <button type="button" class="button small" disabled={busy} onClick={() => void redoChange()}>
          Redo
        </button>
      )}
    </div>
  );
}
