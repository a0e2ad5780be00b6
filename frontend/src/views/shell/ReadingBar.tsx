import { hiddenReading, percent, reading } from '../../state/live';
import { runEntry } from '../../state/runs';

/** How far a large run was read that is opened for the first time; what was read is on show meanwhile. */
export function ReadingBar() {
  const far = reading.value;
  const run = runEntry.value;
  if (!far || !run) return <div />;
  const shown = percent(far);
  return (
    <div class="reading" data-testid="reading">
      <span>
        Reading <b>{run.name}</b>: {shown} % of {(far.total / 2 ** 20).toFixed(0)} MiB. What was read is on show.
      </span>
      <div
        class="reading-bar"
        role="progressbar"
        aria-label={`Reading ${run.name}`}
        aria-valuenow={shown}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${shown}%` }} />
      </div>
      <button
        type="button"
        class="button"
        onClick={() => {
          hiddenReading.value = run.id;
        }}
      >
        Hide
      </button>
    </div>
  );
}
