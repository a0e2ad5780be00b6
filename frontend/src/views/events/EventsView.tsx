import { formatCount } from '../../lib/text/format';
import type { WatchChange } from '../../model/wire/events';
import { triggers, watchChanges } from '../../state/problems/events';
import { CodeBlock } from '../kit/CopyButton';
import { SampleSearch } from './SampleSearch';
import { StepCard } from './StepCard';
import { TriggerCard } from './TriggerCard';

/** Events of the run: samples of the current step, fired triggers, steps that used a file, and capture rules. */
export function EventsView() {
  const fired = triggers.value;
  return (
    <section class="pane-body events-page" aria-label="Events of the run" tabIndex={0} data-testid="events-page">
      <StepCard />
      <section class="event-section" aria-label="Triggers">
        <h2>
          Triggers <span class="faint num">{formatCount(fired.length)}</span>
        </h2>
        {fired.map((trigger) => (
          <TriggerCard key={`${trigger.worker} ${trigger.step} ${trigger.trigger} ${trigger.time}`} trigger={trigger} />
        ))}
        {fired.length === 0 && <NoTriggers />}
      </section>
      <SampleSearch />
      {watchChanges.value.length > 0 && <WatchList changes={watchChanges.value} />}
    </section>
  );
}

const TRIGGER_LINES = 'tap = tensortap.Tap("logs/run", on=tensortap.NonFinite(),\n                    before=tensortap.FlightRecorder(5))';

function NoTriggers() {
  return (
    <div class="event-empty" data-testid="no-triggers">
      <p>No triggers fired. To capture full values when a NaN appears, plus the 5 steps before it:</p>
      <CodeBlock code={TRIGGER_LINES} label="Copy code" />
    </div>
  );
}

/** Active capture rules from each step on, and refused watch files. */
function WatchList({ changes }: { changes: readonly WatchChange[] }) {
  return (
    <section class="event-section" aria-label="Watches" data-testid="watches">
      <h2>Capture rules</h2>
      <ul class="watch-list">
        {changes.map((change, i) => (
          <li key={`${i} ${change.time}`}>
            <span class="num faint">{change.step === null ? 'from the start' : `from step ${change.step}`}</span>
            {change.error === null ? (
              <code>{change.text || 'nothing'}</code>
            ) : (
              <span class="event-refused">watch.json was ignored: {change.error}</span>
            )}
            <span class="faint">{change.fromProgram ? 'set in code' : 'watch.json'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
