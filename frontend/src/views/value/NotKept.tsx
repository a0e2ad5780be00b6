import type { Snapshot } from '../../model/answers';
import { nearestStep } from '../../model/step_list';
import { goToStep } from '../../state/steps';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { escapeRegex } from '../panel/NotCaptured';
import { ComputeOffer } from './ComputeOffer';

/** Only a summary is there: says which line keeps values, or that the value was removed, and where there is one. */
export function NotKept({ row, kept }: { row: Snapshot; kept: number[] }) {
  const nearest = nearestStep(kept, row.step);
  const code = `tensortap.Watch(nodes=${JSON.stringify(escapeRegex(row.node))}, keep="value")`;
  return (
    <Message title={row.pruned ? 'The value was pruned' : 'Only the summary was kept'} testid="not-kept">
      {row.pruned ? (
        <p>
          It was removed to save space (tensortap prune, or a limit that the program set). Counts, statistics and histogram of step{' '}
          {row.step} stay.
        </p>
      ) : (
        <>
          <p>
            Counts, statistics and histogram of step {row.step} are here,{' '}
            {Number.isNaN(row.size) ? 'its elements' : `its ${row.size.toLocaleString('en-US')} elements`} are not. To keep them, give the
            tap this watch:
          </p>
          <CodeBlock code={code} label="Copy the line" />
        </>
      )}
      <ComputeOffer />
      {nearest !== null && (
        <div class="actions">
          <button type="button" class="button num" onClick={() => goToStep(nearest)}>
            Go to step {nearest}, whose value was kept
          </button>
        </div>
      )}
    </Message>
  );
}
