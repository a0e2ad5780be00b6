import { formatCount } from '../../lib/format';
import { computing, shownStep } from '../../state/replay/replay';
import { cursor, moveBy, moveOut, moveToNext } from '../../state/replay/replay_cursor';
import { IconButton } from '../kit/Button';

/** Along the nodes, in topological order. */
export function Moves() {
  const shown = shownStep.value;
  const busy = computing.value !== null || shown === null;
  const count = shown?.order.length ?? 0;
  return (
    <div class="stepper-moves">
      <IconButton small icon="previous" label="Previous node (↑)" onClick={() => moveBy(-1)} disabled={busy} />
      <IconButton small icon="next" label="Next node (↓)" onClick={() => moveBy(1)} disabled={busy} />
      <span class="faint num" data-testid="cursor" data-place={cursor.value}>
        {formatCount(cursor.value + 1)} / {formatCount(count)}
      </span>
      <span class="grow" />
      <button
        type="button"
        class="button small"
        disabled={busy || shown.birthCount === 0}
        onClick={() => moveToNext('birth', 1) || moveToNext('birth', -1)}
        title="To the next node that makes a NaN or Inf (n); m goes to those that pass one on, too"
        data-testid="next-bad"
      >
        NaN
      </button>
      <button
        type="button"
        class="button small"
        disabled={busy || shown.changedNodes.size === 0}
        onClick={() => moveToNext('changed', 1) || moveToNext('changed', -1)}
        title="To the next node that the what-if changed (c)"
        data-testid="next-changed"
      >
        Changed
      </button>
      <button type="button" class="button small" disabled={busy} onClick={moveOut} title="To the first node behind this scope (x)">
        Out
      </button>
    </div>
  );
}
