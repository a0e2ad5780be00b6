import { nearestStep } from '../../model/run/step_list';
import { noValueWords } from '../../model/value/missing_values';
import type { Snapshot } from '../../model/wire/answers';
import { goToStep } from '../../state/steps';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';
import { escapeRegex } from '../panel/NotCaptured';
import { ComputeOffer } from './ComputeOffer';

/** Only a summary is there: says which line keeps values where that helps, else what became of it, and where there is one. */
export function NotKept({ row, kept }: { row: Snapshot; kept: number[] }) {
  const words = noValueWords(row);
  const nearest = nearestStep(kept, row.step);
  const code = `tensortap.Watch(nodes=${JSON.stringify(escapeRegex(row.node))}, keep="value")`;
  return (
    <Message title={words?.title ?? 'Only the summary was kept'} testid="not-kept">
      {words ? (
        <p>
          {words.text}
          {row.no_value === 'source' ? '' : ` Counts, statistics and histogram of step ${row.step} are here.`}
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
