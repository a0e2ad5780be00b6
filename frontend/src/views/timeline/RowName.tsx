import { formatCount } from '../../lib/format';
import { visible } from '../../lib/visible';
import { splitScope } from '../../model/tensor_name';
import { INF_CELL, NAN_CELL, rowLabel, type Timeline, type TimelineRow, worstOfRow } from '../../model/timeline';
import { selectedNode, selectNode } from '../../state/selection';
import { firstBad, toggleRow } from '../../state/timeline';
import { Icon } from '../kit/Icon';
import { lookInto } from './TimelineView';

/** A node is selected, a scope is looked into, ops that differ by a number, and the rest of many, are listed. */
function open(row: TimelineRow): void {
  if (row.node !== '') selectNode(row.node);
  else if (row.kind === 'scope') lookInto(row.path);
  else toggleRow(row);
}

const HEALTH_WORDS: Readonly<Record<number, string>> = { [NAN_CELL]: 'NaN', [INF_CELL]: 'Inf' };

interface RowNameProps {
  timeline: Timeline;
  index: number;
  hovered: boolean;
}

/** A row's sign, name and how many nodes it has. */
export function RowName({ timeline, index, hovered }: RowNameProps) {
  const row = timeline.rows[index] as TimelineRow;
  const worst = worstOfRow(timeline, index);
  const word = HEALTH_WORDS[worst.health];
  const first = firstBad.value?.row === index ? ', the first' : '';
  const health = worst.step === null ? '' : `, ${word} from step ${worst.step}${first}`;
  const { scope, label } = splitScope(rowLabel(timeline, index));
  const opens = row.kind === 'node' ? undefined : row.open;
  const onKeyDown = (event: KeyboardEvent) => {
    if (opens === undefined || (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft')) return;
    event.preventDefault(); // the steps stay
    if (opens === (event.key === 'ArrowLeft')) toggleRow(row);
  };
  return (
    <div
      class="timeline-row"
      style={{ paddingLeft: `${12 * row.depth}px` }}
      data-health={word?.toLowerCase() ?? 'fine'}
      data-hovered={hovered}
      data-selected={row.node !== '' && row.node === selectedNode.value}
      data-testid="timeline-row"
      data-path={row.path}
    >
      {opens !== undefined && (
        <button
          type="button"
          class="timeline-sign"
          tabIndex={-1}
          aria-label={`${opens ? 'Close' : 'Open'} ${visible(row.path)}`}
          onClick={() => toggleRow(row)}
          data-testid="timeline-sign"
        >
          <Icon name={opens ? 'down' : 'right'} />
        </button>
      )}
      <button
        type="button"
        class="timeline-name"
        aria-expanded={opens}
        onClick={() => open(row)}
        onKeyDown={onKeyDown}
        title={`${visible(row.path)}${health}`}
      >
        <span class="timeline-label">
          <span>{scope}</span>
          <span>{label}</span>
        </span>
        {opens !== undefined && row.kind !== 'rest' && (
          <span class="faint num">
            {formatCount(row.nodes)}
            <span class="offscreen"> nodes</span>
          </span>
        )}
        {health && <span class="offscreen">{health}</span>}
      </button>
    </div>
  );
}
