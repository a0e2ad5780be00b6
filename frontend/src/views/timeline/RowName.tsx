import { formatCount } from '../../lib/text/format';
import { visible } from '../../lib/text/visible_text';
import { splitScope } from '../../model/wire/names';
import { INF_CELL, NAN_CELL, placeAmongRows, rowLabel, type Timeline, type TimelineRow, worstOfRow } from '../../model/wire/timeline';
import { firstBad, selectedRow } from '../../state/tensors/timeline';
import { Icon } from '../kit/Icon';

const HEALTH_WORDS: Readonly<Record<number, string>> = { [NAN_CELL]: 'NaN', [INF_CELL]: 'Inf' };

interface RowNameProps {
  timeline: Timeline;
  index: number;
  hovered: boolean;
  /** Whether it is the active row of the keyboard. */
  active: boolean;
}

export const rowId = (index: number) => `timeline-row-${index}`;

/** Sign, name and number of nodes of a row. */
export function RowName({ timeline, index, hovered, active }: RowNameProps) {
  const row = timeline.rows[index] as TimelineRow;
  const worst = worstOfRow(timeline, index);
  const word = HEALTH_WORDS[worst.health];
  const first = firstBad.value?.row === index ? ', the first' : '';
  const health = worst.step === null ? '' : `, ${word} from step ${worst.step}${first}`;
  const { scope, label } = splitScope(rowLabel(timeline, index));
  const opens = row.kind === 'node' ? undefined : row.open;
  const selected = index === selectedRow.value;
  const { place, of } = placeAmongRows(timeline, index);
  return (
    <div
      class="timeline-row"
      style={{ paddingLeft: `${12 * row.depth}px` }}
      data-health={word?.toLowerCase() ?? 'fine'}
      data-hovered={hovered}
      data-selected={selected}
      data-active={active}
      data-index={index}
      data-testid="timeline-row"
      data-path={row.path}
    >
      {opens !== undefined && (
        <span class="timeline-sign" aria-hidden="true" data-testid="timeline-sign">
          <Icon name={opens ? 'down' : 'right'} />
        </span>
      )}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus */}
      <div
        class="timeline-name"
        role="treeitem"
        id={rowId(index)}
        aria-expanded={opens}
        aria-level={row.depth + 1}
        aria-posinset={place}
        aria-setsize={of}
        aria-selected={selected}
        title={`${visible(row.path)}${health}`}
      >
        <span class="timeline-label">
          <span>{scope.slice(0, -1)}</span>
          <span class="cut-start">
            <bdi>{scope ? `/${label}` : label}</bdi>
          </span>
        </span>
        {opens !== undefined && row.kind !== 'rest' && (
          <span class="faint num">
            {formatCount(row.nodes)}
            <span class="offscreen"> nodes</span>
          </span>
        )}
        {health && <span class="offscreen">{health}</span>}
      </div>
    </div>
  );
}
