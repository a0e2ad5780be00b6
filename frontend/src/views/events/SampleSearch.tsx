import { useEffect, useRef } from 'preact/hooks';
import { formatCount } from '../../lib/text/format';
import { type SampleKind, stepRuns } from '../../model/wire/events';
import { sampleKind, sampleSearch } from '../../state/page/choices';
import { batch, batchSteps, chosenSample, fedSteps, samplesFound, shownSample } from '../../state/problems/events';
import { allSteps, goToStep, step } from '../../state/steps';
import { Segmented } from '../kit/Button';
import { CodeBlock } from '../kit/CopyButton';
import { Failure } from '../kit/Message';

const KINDS = [
  { value: 'files', label: 'Files' },
  { value: 'ids', label: 'Sample ids' },
] as const;

/** Searches the steps that used a sample, or samples of a file. */
export function SampleSearch() {
  if (batchSteps.value === 0) return <NoBatches />;
  const { data, error } = samplesFound;
  const section = useRef<HTMLElement>(null);
  const sought = chosenSample.value;
  // The content above has its final height then.
  const settled = data.value !== null && batch.data.value !== null;
  // Scroll to the result of a search in the address, or of a click on a file above.
  useEffect(() => {
    const page = section.current?.parentElement;
    if (page && section.current && sampleSearch.peek() !== '') page.scrollTop = section.current.offsetTop;
  }, [sought, settled]);
  return (
    <section class="event-section" aria-label="Samples" ref={section} data-testid="sample-search">
      <h2>Which steps saw …</h2>
      <div class="row">
        <Segmented label="Look for" options={KINDS} value={sampleKind.value} onChange={choose} />
        <input
          class="field small grow"
          type="search"
          placeholder={sampleKind.value === 'files' ? 'part of a file name' : 'part of an id'}
          aria-label="Part of the name"
          value={sampleSearch.value}
          onInput={(event) => {
            chosenSample.value = null;
            sampleSearch.value = event.currentTarget.value;
          }}
          data-testid="sample-part"
        />
      </div>
      {error.value && <Failure error={error.value} retry={samplesFound.reload} />}
      {data.value && <Found total={data.value.total} rows={data.value.rows} />}
      <FedSteps />
    </section>
  );
}

function choose(kind: SampleKind): void {
  sampleKind.value = kind;
  chosenSample.value = null;
}

function Found({ total, rows }: NonNullable<typeof samplesFound.data.value>) {
  if (total === 0) {
    const what = sampleKind.value === 'files' ? 'file' : 'id';
    return (
      <p class="event-empty" role="status">
        {sampleSearch.value === '' ? `The run has no sample ${what}s.` : `No sample ${what} contains "${sampleSearch.value}".`}
      </p>
    );
  }
  return (
    <ul class="sample-list" data-testid="samples-found">
      {rows.map((row) => (
        <li key={row.text}>
          <button
            type="button"
            class="link-row"
            data-selected={row.text === shownSample.value}
            onClick={() => {
              chosenSample.value = row.text;
            }}
          >
            <span class="link-name">
              <span class="truncate">{row.text}</span>
            </span>
            <span class="faint num">
              {formatCount(row.steps)} {row.steps === 1 ? 'step' : 'steps'}, {row.first_step} … {row.last_step}
            </span>
          </button>
        </li>
      ))}
      {total > rows.length && <li class="faint num">{formatCount(total - rows.length)} more; refine the search</li>}
    </ul>
  );
}

/** More than this are summarized. */
const MOST_RUNS = 200;

function FedSteps() {
  const [text, steps] = [shownSample.value, fedSteps.data.value];
  if (text === null || steps === null) return null;
  const runs = stepRuns(steps);
  const captured = new Set(allSteps.value.step);
  return (
    <div class="event-card" data-testid="fed-steps">
      <p>
        <b class="num">{formatCount(steps.length)}</b> {steps.length === 1 ? 'step' : 'steps'} saw <b class="event-text">{text}</b>
        <span class="faint"> · grey: not captured</span>
      </p>
      <div class="fed-steps num">
        {runs.slice(0, MOST_RUNS).map(({ first, last }) => (
          <button
            type="button"
            class="chip"
            key={first}
            data-captured={range(first, last).some((at) => captured.has(at))}
            data-current={step.value !== null && step.value >= first && step.value <= last}
            onClick={() => goToStep(range(first, last).find((at) => captured.has(at)) ?? first)}
          >
            {first === last ? first : `${first}–${last}`}
          </button>
        ))}
        {runs.length > MOST_RUNS && <span class="faint">and {formatCount(runs.length - MOST_RUNS)} more</span>}
      </div>
    </div>
  );
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

const BATCH_LINES =
  'dataset = tap.trace_batches(dataset, files=lambda element: element["file"],\n' +
  '                            feed=lambda element: (element["x"], element["y"]))\n' +
  'model.fit(dataset, callbacks=[tap.callback()])';

function NoBatches() {
  return (
    <section class="event-section" aria-label="Samples" data-testid="no-batches">
      <h2>Batch contents</h2>
      <div class="event-empty">
        <p>Not recorded. To trace samples to steps:</p>
        <CodeBlock code={BATCH_LINES} label="Copy code" />
        <p class="faint">
          In a custom loop: <code>tap.batch(ids=…, files=…)</code> before the step.
        </p>
      </div>
    </section>
  );
}
