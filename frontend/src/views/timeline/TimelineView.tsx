import { batch } from '@preact/signals';
import { counted } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { splitScope } from '../../model/wire/names';
import { NAN_CELL, scopeTrail } from '../../model/wire/timeline';
import { STATISTIC_TITLES } from '../../model/wire/value_scale';
import { openScopes, view } from '../../state/page/choices';
import { nothingCaptured, run } from '../../state/runs';
import { goTo } from '../../state/selection';
import { firstBad, timeline, timelineScale, timelineStatistic } from '../../state/tensors/timeline';
import { ColourScale } from '../kit/ColourScale';
import { Icon } from '../kit/Icon';
import { Failure, Message } from '../kit/Message';
import { NothingCaptured } from '../shell/NothingCaptured';
import { TimelineGrid } from './TimelineGrid';
import { colormapOf } from './timeline_cells';
import { lookInto } from './timeline_keys';

/** Steps across, scopes down: when and where a run went wrong, at a glance. */
export function TimelineView() {
  if (nothingCaptured.value) return <NothingCaptured />;
  const data = timeline.data.value;
  const failed = timeline.error.value ?? run.error.value;
  if (data === null) return failed ? <Failure error={failed} retry={timeline.reload} /> : <div class="pane-body" />;
  return (
    <div class="pane-body timeline" data-testid="timeline" data-scope={data.scope}>
      <div class="timeline-head">
        <Trail scope={data.scope} />
        <span class="grow" />
        <First />
        <Legend />
      </div>
      {data.rows.length === 0 || data.first.length === 0 ? <Nothing scope={data.scope} /> : <TimelineGrid timeline={data} />}
      {data.leftOut > 0 && (
        <p class="chart-note faint">
          {counted(data.leftOut, 'more node')} of this scope {data.leftOut === 1 ? 'is' : 'are'} in the table of tensors.
        </p>
      )}
    </div>
  );
}

function showInGraph(scope: string): void {
  batch(() => {
    openScopes.value = [scope];
    view.value = 'graph';
  });
}

function Trail({ scope }: { scope: string }) {
  const trail = scopeTrail(scope);
  return (
    <nav class="trail" aria-label="Scope">
      <button type="button" class="button small quiet" onClick={() => lookInto('')} disabled={scope === ''}>
        All scopes
      </button>
      {trail.map(({ label, path }) => (
        <span key={path} class="row">
          <Icon name="right" />
          <button type="button" class="button small quiet truncate" onClick={() => lookInto(path)} disabled={path === scope}>
            {label}
          </button>
        </span>
      ))}
      {scope !== '' && (
        <button type="button" class="button small" onClick={() => showInGraph(scope)} title="Opens this scope in the graph">
          Show in graph
        </button>
      )}
    </nav>
  );
}

/** Button for the first cell with NaN or Inf. */
function First() {
  const first = firstBad.value;
  if (first === null) return null;
  const { label } = splitScope(first.node);
  return (
    <button
      type="button"
      class="button small"
      onClick={() => goTo(first)}
      title={`Jump to ${visible(first.tensor)}`}
      data-testid="timeline-first"
    >
      First {first.health === NAN_CELL ? 'NaN' : 'Inf'}: step {first.step}, {label}
    </button>
  );
}

const WORST =
  'Each cell shows the worst tensor in its scope (largest; for Min smallest, for Mean largest |mean|). Tensors that never change, such as masks, count only where there are no others. Integers are grey, unless all tensors are integers.';

function Legend() {
  const current = timelineScale.value;
  const ticks = current?.ticks ?? [];
  const statistic = timelineStatistic.value;
  return (
    <div class="timeline-legend num">
      {current && (
        <>
          {statistic && <span title={WORST}>{STATISTIC_TITLES[statistic]} of the worst tensor</span>}
          <span>{ticks[0]?.label}</span>
          <ColourScale name={colormapOf(current)} />
          <span>{ticks[ticks.length - 1]?.label}</span>
        </>
      )}
      {!current && (
        <span class="swatch" data-health="fine">
          finite
        </span>
      )}
      <span class="swatch" data-health="inf">
        Inf
      </span>
      <span class="swatch" data-health="nan">
        NaN
      </span>
    </div>
  );
}

function Nothing({ scope }: { scope: string }) {
  return (
    <Message title={scope === '' ? 'No tensors of this graph were captured' : `No tensors were captured in ${scope}`} testid="empty-state">
      <p>Columns are watched steps, rows are scopes with captured tensors.</p>
      {scope !== '' && (
        <div class="actions">
          <button type="button" class="button" onClick={() => lookInto('')}>
            Show all scopes
          </button>
        </div>
      )}
    </Message>
  );
}
