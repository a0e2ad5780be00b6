import { counted, formatCount } from '../../lib/text/format';
import type { StepBatch } from '../../model/wire/answers';
import { samplesByFile } from '../../model/wire/events';
import { sampleKind, sampleSearch } from '../../state/page/choices';
import { batch, batchSteps, chosenSample } from '../../state/problems/events';
import { runDetail } from '../../state/runs';
import { step } from '../../state/steps';
import { Failure } from '../kit/Message';

/** The samples of the current step. */
export function StepCard() {
  if (step.value === null || batchSteps.value === 0) return null;
  const data = batch.data.value;
  return (
    <section class="event-section" aria-label="Batch of the step" data-testid="step-batch" data-step={step.value}>
      <h2>Batch of step {step.value}</h2>
      {batch.error.value && <Failure error={batch.error.value} retry={batch.reload} />}
      {data?.length === 0 && <NoBatch />}
      {data?.map((entry, i) => (
        <BatchCard key={`${i} ${entry.worker}`} entry={entry} several={data.length > 1} />
      ))}
    </section>
  );
}

function NoBatch() {
  const span = runDetail.value?.batches;
  return (
    <p class="event-empty">
      The samples of this step were not recorded, only those of {counted(batchSteps.value, 'step')} from {span?.first} to {span?.last}.
    </p>
  );
}

const MOST_FILES = 12;
const MOST_IDS = 64;

function BatchCard({ entry, several }: { entry: StepBatch; several: boolean }) {
  const files = samplesByFile(entry.files ?? []);
  const ids = entry.ids ?? [];
  const cut = Math.max(entry.files?.length ?? 0, ids.length) < entry.count;
  return (
    <div class="event-card">
      <p>
        <b class="num">{formatCount(entry.count)}</b> {entry.count === 1 ? 'sample' : 'samples'}
        {files.length > 0 && (
          <>
            {' '}
            from <b class="num">{formatCount(files.length)}</b> {files.length === 1 ? 'file' : 'files'}
          </>
        )}
        {several && <span class="faint"> · worker {entry.worker}</span>}
        {cut && <span class="faint"> · truncated</span>}
      </p>
      {files.length > 0 && (
        <ul class="sample-list">
          {files.slice(0, MOST_FILES).map(({ file, count }) => (
            <li key={file}>
              <SampleLink of="files" text={file} detail={`${formatCount(count)} of ${formatCount(entry.files?.length ?? 0)}`} />
            </li>
          ))}
          {files.length > MOST_FILES && <li class="faint">and {formatCount(files.length - MOST_FILES)} more files</li>}
        </ul>
      )}
      {ids.length > 0 && (
        <details>
          <summary>Ids</summary>
          <ul class="sample-ids">
            {ids.slice(0, MOST_IDS).map((id, i) => (
              <li key={`${i} ${id}`}>
                <SampleLink of="ids" text={id} detail="" />
              </li>
            ))}
            {ids.length > MOST_IDS && <li class="faint">and {formatCount(ids.length - MOST_IDS)} more</li>}
          </ul>
        </details>
      )}
    </div>
  );
}

/** Searches the other steps that used it. */
function SampleLink({ of, text, detail }: { of: 'files' | 'ids'; text: string; detail: string }) {
  return (
    <button
      type="button"
      class="link-row"
      title={`Which steps saw ${text}`}
      onClick={() => {
        sampleKind.value = of;
        sampleSearch.value = text;
        chosenSample.value = text;
      }}
    >
      <span class="link-name">
        <span class="truncate">{text}</span>
      </span>
      {detail && <span class="faint num">{detail}</span>}
    </button>
  );
}
