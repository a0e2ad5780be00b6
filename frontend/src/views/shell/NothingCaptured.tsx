import { nextRunName, recordedWords, watchedBy } from '../../model/run/nothing_captured';
import type { RunDetail } from '../../model/wire/answers';
import { view } from '../../state/page/choices';
import { raised, unseen, watchChanges } from '../../state/problems/events';
import { recordedSteps, replayAllowed } from '../../state/replay/replay';
import { runDetail, runEntry, runList, runPhase } from '../../state/runs';
import { CodeBlock } from '../kit/CopyButton';
import { Message } from '../kit/Message';

/** A run without snapshots: whether more may come, why there are none, and what to do next. */
export function NothingCaptured() {
  const detail = runDetail.value;
  if (detail === null) return <div class="pane-body" />;
  if (runPhase.value === 'over') return <Over detail={detail} />;
  return (
    <Message title={runPhase.value === 'silent' ? 'No tensors captured so far' : 'No tensors captured yet'} testid="empty-state">
      <p>
        {runPhase.value === 'silent' ? 'No data for a while. The program may be compiling its first step, or it crashed. ' : ''}
        The first tensors will appear here automatically.
      </p>
      <Watched detail={detail} />
      <p>A tap writes the graph of a Keras model at the first watched step:</p>
      <CodeBlock code={'tap = tensortap.Tap("logs/run")\nmodel.fit(x, y, callbacks=[tap.callback()])'} label="Copy code" />
    </Message>
  );
}

/** All workers have closed it: there will be no more data. */
function Over({ detail }: { detail: RunDetail }) {
  const imported = detail.info['imported from'];
  const reasons = [...raised.value, ...unseen.value];
  const dropped = detail.workers.reduce((sum, worker) => sum + worker.dropped, 0);
  return (
    <Message title="No tensors captured" testid="nothing-captured">
      {typeof imported === 'string' ? (
        <p>
          It was imported from <code>{imported}</code>, which holds {detail.graphs.length > 0 ? 'a graph but ' : ''}no tensors.
        </p>
      ) : dropped > 0 ? (
        <p>Captured tensors were dropped because the disk was full or too slow. Free space, or watch fewer tensors or steps.</p>
      ) : reasons.length > 0 ? (
        <Reported detail={detail} reasons={reasons} />
      ) : (
        recordedSteps.value.length === 0 && <PossibleReasons detail={detail} />
      )}
      <p>
        <Recorded />
      </p>
    </Message>
  );
}

/** A step raised, or the program printed a warning with the reason. */
function Reported({ detail, reasons }: { detail: RunDetail; reasons: readonly string[] }) {
  return (
    <>
      <Watched detail={detail} />
      <ul class="message-reasons" data-testid="unseen">
        {reasons.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}

function PossibleReasons({ detail }: { detail: RunDetail }) {
  const watched = watchedBy(detail, watchChanges.value);
  const run = nextRunName(runEntry.value?.name ?? 'run', runList.value?.runs.map((entry) => entry.name) ?? []);
  const path = JSON.stringify(`${runList.value?.logdir ?? 'logs'}/${run}`);
  return (
    <>
      <Watched detail={detail} />
      <ul class="message-reasons">
        <li>
          <b>No tensor matched.</b> {watched.length > 0 ? 'The Watch' : 'A Watch'} may match nothing. Check stderr for a TapWarning.
        </li>
        <li>
          <b>No step was watched.</b> The program may have ended before the first watched step; steps count from 0.
        </li>
        <li>
          <b>No tapped function ran.</b> <code>model.fit</code> needs <code>callbacks=[tap.callback()]</code>, a custom loop{' '}
          <code>@tap.function</code>.
        </li>
      </ul>
      <p>Run once with a watch that selects all tensors, to list the names:</p>
      <CodeBlock code={`watch = tensortap.Watch(steps=1)\ntap = tensortap.Tap(${path}, watch=watch)`} label="Copy code" />
    </>
  );
}

function Watched({ detail }: { detail: RunDetail }) {
  const watched = watchedBy(detail, watchChanges.value);
  if (watched.length === 0) return null;
  return (
    <p data-testid="watched">
      Capture rule:{' '}
      {watched.map((watch, i) => (
        <span key={watch}>
          {i > 0 && ' | '}
          <code>{watch}</code>
        </span>
      ))}
      .
    </p>
  );
}

/** Says that steps were recorded, with a link to Replay; nothing if none were. */
export function Recorded() {
  const words = recordedWords(recordedSteps.value, replayAllowed.value);
  if (words === null) return null;
  return (
    <span data-testid="recorded">
      {words.recorded}:{' '}
      <button type="button" class="link" onClick={openStepper}>
        Replay
      </button>{' '}
      {words.stepper}.
    </span>
  );
}

function openStepper(): void {
  view.value = 'stepper';
}
