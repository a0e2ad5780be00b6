import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { formatNumber } from '../../lib/text/format';
import { virtualWindow } from '../../lib/virtual_scroll';
import type { Snapshot } from '../../model/wire/answers';
import { splitScope } from '../../model/wire/names';
import { shapeText } from '../../model/wire/statistics';
import { tableRows } from '../../state/page/choices';
import { goTo } from '../../state/selection';
import type { SnapshotPages } from '../../state/tensors/tensor_list';
import { Bars, smallHistogram, Ticks } from '../charts/MiniHistogram';
import { useSize, useThrottled } from '../kit/hooks';
import { ScopePart } from '../kit/LongName';
import { Failure } from '../kit/Message';
import { isSelected } from './selected_row';

/** Width of a card with its gap in pixels, and its minimum width. */
const CARD = 136;
const NARROWEST = 220;
const GAP = 8;

/** Cards on either side of the visible ones that are requested with them. */
const AHEAD = 60;

/** Small histograms of all tensors in the list, as many per line as fit; only visible lines are drawn. */
export function HistogramWall({ list }: { list: SnapshotPages }) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const top = useSignal(0);
  list.arrived.value;
  const across = Math.max(1, Math.floor((width - GAP) / (NARROWEST + GAP)));
  const seen = virtualWindow(top.value, height, CARD, Math.ceil(list.total / across), 3);
  const [first, last] = [seen.first * across, Math.min(list.total, seen.last * across)];
  useThrottled(() => list.load(Math.max(0, first - AHEAD), last + AHEAD), [list, first, last, list.arrived.value]);
  if (list.error.value) return <Failure error={list.error.value} retry={() => list.retry()} />;
  return (
    <div
      class="histogram-wall num"
      ref={ref}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
      }}
      data-testid="histogram-wall"
      data-total={list.total}
    >
      <div style={{ height: `${seen.total + GAP}px` }}>
        <ul
          class="wall-cards"
          style={{ transform: `translateY(${seen.offset}px)`, gridTemplateColumns: `repeat(${across}, minmax(0, 1fr))` }}
          aria-label="Histograms"
        >
          {Array.from({ length: Math.max(0, last - first) }, (_, i) => {
            const row = list.row(first + i);
            return (
              <li key={first + i} aria-setsize={list.total} aria-posinset={first + i + 1}>
                {row === null ? <div class="wall-card" /> : <Card row={row} selected={isSelected(row)} step={tableRows.value === 'all'} />}
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

function Card({ row, selected, step }: { row: Snapshot; selected: boolean; step: boolean }) {
  const { scope, label } = splitScope(row.tensor);
  const { histogram } = row;
  const shape = useMemo(() => (histogram && histogram.counts.length > 0 ? smallHistogram(histogram, row) : null), [histogram]);
  const infinite = row.pos_inf + row.neg_inf;
  return (
    <button
      type="button"
      class="wall-card"
      aria-pressed={selected}
      title={`${row.tensor}\n${row.dtype} ${shapeText(row)}\nmin ${row.min}, mean ${row.mean}, max ${row.max}`}
      onClick={() => goTo({ tensor: row.tensor, step: row.step, visit: row.visit, tab: 'histogram' })}
      data-testid="wall-card"
      data-tensor={row.tensor}
      data-step={row.step}
      data-health={row.nan > 0 ? 'nan' : infinite > 0 ? 'inf' : 'fine'}
    >
      <span class="wall-name">
        <span class="name-parts">
          <ScopePart scope={scope} />
          <span class="label-part">{label}</span>
        </span>
        {row.nan > 0 && <span class="chip nan">NaN</span>}
        {infinite > 0 && <span class="chip inf">Inf</span>}
      </span>
      <span class="mini-histogram">
        {shape ? (
          <>
            <Bars shape={shape} />
            <Ticks shape={shape} />
          </>
        ) : (
          <span class="wall-none faint">{histogram ? 'no finite elements' : ''}</span>
        )}
      </span>
      <span class="wall-facts faint">
        <span>{step ? `step ${row.step}` : row.dtype === 'float32' ? shapeText(row) : `${row.dtype} ${shapeText(row)}`}</span>
        <span title="mean ± standard deviation">
          {Number.isNaN(row.mean) ? '' : `${formatNumber(row.mean, 3)} ± ${formatNumber(row.std, 2)}`}
        </span>
      </span>
    </button>
  );
}
