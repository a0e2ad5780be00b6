import { useEffect } from 'preact/hooks';
import { counted, formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import type { Progress } from '../../model/wire/findings';
import { recordingLabel } from '../../model/wire/replay';
import {
  cancelComputing,
  chosenRecording,
  computing,
  computingProgress,
  recordedStep,
  recordedSteps,
  recording,
  recordings,
  replayAllowed,
  shownStep,
} from '../../state/replay/replay';
import { cursor, moveBy, moveOut, moveToNext, recompute, stepError } from '../../state/replay/replay_cursor';
import { shownWhatIfs } from '../../state/replay/what_ifs';
import { RunGraph } from '../graph/RunGraph';
import { IconButton, Select } from '../kit/Button';
import { CodeBlock } from '../kit/CopyButton';
import { Elapsed, Failure, Message } from '../kit/Message';
import { LogicTests } from './LogicTests';
import { NodeCard } from './NodeCard';
import { NodeList } from './NodeList';
import { OverrideBox } from './OverrideBox';
import { onReplayKey, onUndoKey } from './replay_keys';
import { WhatIfTable } from './WhatIfTable';

/** A recorded step, node by node: inputs, outputs, and the effect of changes. */
export function ReplayView() {
  useEffect(() => {
    document.addEventListener('keydown', onUndoKey);
    return () => document.removeEventListener('keydown', onUndoKey);
  }, []);
  const all = recordings.data.value;
  if (all === null) return recordings.error.value ? <Failure error={recordings.error.value} retry={recordings.reload} /> : null;
  if (all.recordings.length === 0) return <NothingRecorded />;
  if (!replayAllowed.value) return <NotAllowed />;
  return (
    <div class="pane-body stepper" data-testid="stepper" data-computing={computing.value !== null}>
      <section class="stepper-side" aria-label="Replay" onKeyDown={onReplayKey}>
        <Head />
        {stepError.value && (
          <div class="stepper-error" role="alert">
            <p>{stepError.value.message}</p>
            <p class="faint">{stepError.value.hint}</p>
            <button type="button" class="button small" onClick={() => void recompute()}>
              Try again
            </button>
          </div>
        )}
        {recordedStep.value && (
          <>
            <Moves />
            <NodeList />
            <div class="stepper-work">
              <NodeCard />
              <OverrideBox />
              <WhatIfTable />
              <LogicTests />
            </div>
          </>
        )}
      </section>
      <RunGraph />
    </div>
  );
}

/** The recorded step, and whether the shown values equal the recording. */
function Head() {
  const shown = recordedStep.value;
  const proof = shown?.data.proofs?.step;
  const all = recordings.data.value?.recordings ?? [];
  return (
    <div class="stepper-head">
      <Select
        label="Recorded step"
        value={recording.value?.id ?? ''}
        onChange={(id) => {
          chosenRecording.value = id;
        }}
        testid="recording"
      >
        {all.map((each) => (
          <option key={each.id} value={each.id} title={each.damage}>
            {visible(recordingLabel(each, all))}
          </option>
        ))}
      </Select>
      {computing.value !== null ? (
        <span class="row" role="status">
          <span class="faint">
            {computing.value}
            {progressText(computingProgress.value)}… <Elapsed />
          </span>
          <button type="button" class="button small" onClick={() => void cancelComputing()}>
            Cancel
          </button>
        </span>
      ) : (
        proof && (
          <span class="stepper-proof" data-proven={proof.proven} title={`${proof.word}: ${proof.text}`} data-testid="proof">
            {proof.proven ? 'verified' : 'not bit-identical'}
          </span>
        )
      )}
      {proof && !proof.proven && (
        <p class="faint">
          {proof.word}: {proof.text}
        </p>
      )}
      {shown?.data.failed && <p class="faint">The step raises {shown.data.failed}</p>}
    </div>
  );
}

function progressText({ done, total, doing }: Progress): string {
  const parts = [total > 0 ? `${formatCount(done)} of ${counted(total, 'tensor')}` : '', doing].filter(Boolean);
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}

function NothingRecorded() {
  return (
    <Message title="No step of this run was recorded" testid="nothing-recorded">
      <p>Replay runs a recorded step op by op, and lets you edit tensors. To record every 100th step:</p>
      <CodeBlock code={'tap = tensortap.Tap("logs/run", record=tensortap.Record(tensortap.every(100)))'} label="Copy code" />
    </Message>
  );
}

/** Running a graph from a file needs permission. */
function NotAllowed() {
  return (
    <Message title="Replay is off on this server" testid="replay-not-allowed">
      <p>
        This run has {counted(recordedSteps.value.length, 'recorded step')}. Replay executes a graph from a file, so start the server with:
      </p>
      <CodeBlock code="tensortap serve LOGDIR --allow-replay" label="Copy the command" />
      <p>
        Or in a terminal: <code>tensortap step RUN</code>
      </p>
    </Message>
  );
}

/** Along the nodes, in topological order. */
function Moves() {
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
      {(recordedStep.value?.originCount ?? 0) + (shown?.originCount ?? 0) > 0 && (
        <button
          type="button"
          class="button small"
          disabled={busy || shown.originCount === 0}
          onClick={() => moveToNext('origin', 1) || moveToNext('origin', -1)}
          title="Next node that creates a NaN or Inf (R); M also stops at nodes that propagate one"
          data-testid="next-bad"
        >
          Next NaN
        </button>
      )}
      {shownWhatIfs.value.all.length > 0 && (
        <button
          type="button"
          class="button small"
          disabled={busy || shown.changedNodes.size === 0}
          onClick={() => moveToNext('changed', 1) || moveToNext('changed', -1)}
          title="Next node changed by the what-if (J)"
          data-testid="next-changed"
        >
          Next change
        </button>
      )}
      <button type="button" class="button small" disabled={busy} onClick={moveOut} title="First node after this scope (X)">
        Step out
      </button>
    </div>
  );
}
