import { counted, formatCount, formatNumber, formatShort } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { changesOf } from '../../model/wire/what_ifs';
import { computing, recordedStep } from '../../state/replay/replay';
import {
  beginWhatIf,
  chooseWhatIf,
  dropWhatIf,
  lossesSideBySide,
  moveTo,
  remainingOrigins,
  saveWhatIfs,
  sideBySide,
} from '../../state/replay/replay_cursor';
import { isSaved, shownWhatIfs } from '../../state/replay/what_ifs';

/** The what-ifs side by side: their changes, and the selected tensor's numbers in each. */
export function WhatIfTable() {
  const busy = computing.value !== null;
  const { current, all } = shownWhatIfs.value;
  const losses = lossesSideBySide.data.value;
  return (
    <section class="what-ifs" aria-label="What-ifs">
      <div class="row">
        <h2 class="grow">What if</h2>
        {current !== null && (
          <>
            <button type="button" class="button small" disabled={busy} onClick={() => beginWhatIf()} title="Duplicate this what-if">
              Duplicate
            </button>
            <button type="button" class="button small" disabled={busy} onClick={() => dropWhatIf(current)} title="Delete this what-if">
              Delete
            </button>
          </>
        )}
        {(all.length > 0 || !isSaved.value) && (
          <button type="button" class="button small" disabled={busy || isSaved.value} onClick={() => void saveWhatIfs()} data-testid="save">
            {isSaved.value ? 'Saved' : 'Save'}
          </button>
        )}
      </div>
      <div class="what-if-scroll">
        <table class="what-if-table num">
          <thead>
            <tr>
              <th scope="col">
                <span class="offscreen">Name</span>
              </th>
              <th scope="col" title="Tensors changed vs. recording">
                changed
              </th>
              <th scope="col" title="Tensors with NaN or Inf">
                NaN/Inf
              </th>
              <th scope="col">min</th>
              <th scope="col">mean</th>
              <th scope="col">max</th>
            </tr>
          </thead>
          <tbody>
            {[null, ...all.map((each) => each.name)].map((name) => (
              <Row key={name ?? ''} name={name} current={name === current} busy={busy} losses={losses} />
            ))}
          </tbody>
        </table>
      </div>
      <Changes />
      <Remaining />
    </section>
  );
}

interface RowProps {
  name: string | null;
  current: boolean;
  busy: boolean;
  /** By what-if; null if the graph's loss is unknown. */
  losses: ReadonlyMap<string | null, number> | null;
}

function Row({ name, current, busy, losses }: RowProps) {
  const found = sideBySide.data.value?.find((each) => each.name === name);
  const shown = found?.shown ?? (name === null ? recordedStep.value : null);
  return (
    <>
      <tr data-current={current} data-testid="what-if" data-name={name ?? ''}>
        <th scope="row">
          <button type="button" class="link-name truncate" aria-pressed={current} disabled={busy} onClick={() => void chooseWhatIf(name)}>
            {name === null ? 'recorded' : visible(name)}
          </button>
        </th>
        <td>{shown && name !== null ? formatCount(shown.data.changed.length) : name !== null && <span class="faint">not yet</span>}</td>
        <td>{shown ? formatCount(shown.badCount) : ''}</td>
        <Numeric value={found?.row?.min} />
        <Numeric value={found?.row?.mean} />
        <Numeric value={found?.row?.max} />
      </tr>
      {losses?.has(name) && <Loss value={losses.get(name)!} recorded={name === null ? undefined : losses.get(null)} current={current} />}
    </>
  );
}

/** The loss of each what-if, with its distance from the recorded one. */
function Loss({ value, recorded, current }: { value: number; recorded: number | undefined; current: boolean }) {
  const change = recorded === undefined ? Number.NaN : value - recorded;
  const text = Number.isFinite(change) ? ` (${change < 0 ? '−' : '+'}${formatShort(Math.abs(change))})` : '';
  return (
    <tr class="what-if-loss" data-current={current} data-testid="what-if-loss">
      <td colSpan={6} title={`Mean loss${recorded === undefined ? '' : ', and its difference from the recording'}`}>
        loss {Number.isNaN(value) ? 'not finite' : formatNumber(value, 5)}
        {text}
      </td>
    </tr>
  );
}

function Numeric({ value }: { value: number | undefined }) {
  return <td title={value === undefined ? undefined : formatNumber(value, 9)}>{value === undefined ? '' : formatShort(value)}</td>;
}

const ADVICE = {
  changed: 'The change itself gives NaN or Inf: edit it.',
  read: 'It was NaN or Inf before this step: replay an earlier step.',
  computed: 'Change its output too.',
};

/** Why the loss is not finite with the changes, and what to do. */
function Remaining() {
  const found = remainingOrigins.value;
  if (found === null) return null;
  const { place, node, count, advice } = found;
  return (
    <p class="what-if-remaining" role="status" data-testid="what-if-remaining">
      Loss still not finite: {counted(count, 'node')} {count === 1 ? 'creates' : 'create'} NaN or Inf, first{' '}
      <button type="button" class="link inline-link" onClick={() => moveTo(place)}>
        {visible(node)}
      </button>
      . {ADVICE[advice]}
    </p>
  );
}

/** The changes of the current one. */
function Changes() {
  const changes = changesOf(shownWhatIfs.value);
  if (changes.length === 0) return <p class="faint">No changes: this is the recorded step.</p>;
  return (
    <ol class="what-if-changes mono">
      {changes.map(({ tensor, expression }, i) => (
        <li key={`${i} ${tensor}`} title={`${tensor} = ${expression}`}>
          {visible(tensor)} = {visible(expression)}
        </li>
      ))}
    </ol>
  );
}
