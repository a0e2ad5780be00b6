import { counted } from '../../lib/format';
import { visible } from '../../lib/visible_text';
import { cellOf, NAN_CELL, type Timeline, type TimelineRow, UNSEEN } from '../../model/wire/timeline';
import { timelineStatistic } from '../../state/tensors/timeline';
import { STATISTIC_LABELS } from '../shell/ColourControl';

const WIDTH = 320;

export interface Cell {
  row: number;
  column: number;
  x: number;
  y: number;
}

interface CellTipProps {
  timeline: Timeline;
  cell: Cell;
  width: number;
  height: number;
  top: number;
}

/** The scope, the step, and the tensor that a cell shows, with its exact number. */
export function CellTip({ timeline, cell, width, height, top }: CellTipProps) {
  const at = cellOf(timeline, cell.row, cell.column);
  const [first, last] = [timeline.first[cell.column], timeline.last[cell.column]];
  const [step, visit] = [timeline.step[at] as number, timeline.visit[at] as number];
  const seen = timeline.tensor.at(at) !== '';
  // Among finite ones none is worse where health is all that is asked for.
  const named = seen && (timelineStatistic.value !== null || (timeline.bad[at] as number) > 0);
  const steps = first === last ? `step ${first}` : `steps ${first}–${last}${named ? `, here of step ${step}` : ''}`;
  const facts = [steps, visit > 0 ? `visit ${visit}` : '', ...numbers(timeline, at)];
  const left = Math.max(0, Math.min(cell.x + 14, width - WIDTH));
  const below = cell.y + 76 < height;
  return (
    <div
      class="tooltip num"
      style={{ left: `${left}px`, top: `${top + (below ? cell.y + 16 : cell.y - 68)}px`, maxWidth: `${WIDTH}px` }}
      data-testid="timeline-tip"
    >
      <b class="truncate">{visible((timeline.rows[cell.row] as TimelineRow).path)}</b>
      <div>{facts.filter(Boolean).join(' · ')}</div>
      {named && <div class="truncate">{visible(timeline.tensor.at(at))}</div>}
    </div>
  );
}

function numbers(timeline: Timeline, at: number): string[] {
  if (timeline.tensor.at(at) === '') return ['not captured'];
  const [health, bad, value] = [timeline.health[at] as number, timeline.bad[at] as number, timeline.value[at] as number];
  const statistic = timelineStatistic.value;
  if (bad > 0) return [`${counted(bad, 'element')} ${health === NAN_CELL ? 'NaN' : 'infinite'}`];
  if (statistic === null) return [health === UNSEEN ? 'not counted' : 'finite'];
  if (Number.isNaN(value)) return [`${STATISTIC_LABELS[statistic]} of nothing here`];
  return [`${STATISTIC_LABELS[statistic]} ${statistic.endsWith('_share') ? 100 * value : value}`];
}
