import { barHeights, histogramAxis, spanInBucket } from '../../model/charts/histogram_axis';
import { tallestBar } from '../../model/charts/histogram_shapes';
import type { Histograms, Snapshot } from '../../model/wire/answers';

const WIDTH = 400;
const HEIGHT = 56;

/** Exact zeros are cut off at the top; a single element still shows. */
function barHeight(share: number): number {
  return Math.max(1, HEIGHT * Math.min(1, 0.9 * share));
}

/** A label is centred on its tick, but for the ends: none is cut. */
function tickStyle(share: number) {
  const back = share < 0.04 ? 0 : share > 0.96 ? 100 : 50;
  return { left: `${100 * share}%`, transform: `translateX(-${back}%)` };
}

interface MiniHistogramProps {
  /** Of one step, on a symlog axis; null until it is there. */
  data: Histograms | null;
  /** What it is of. */
  of: Snapshot;
  onClick: () => void;
}

/** The histogram of one step, small; the tab has it large and over time. */
export function MiniHistogram({ data, of, onClick }: MiniHistogramProps) {
  const row = data?.rows[0];
  if (!data || !row || row.counts.length === 0) return <div class="mini-histogram" />;
  const values = histogramAxis(data, 'symlog');
  const tallest = tallestBar([row], values);
  const end = values.at[values.at.length - 1] ?? 1;
  const x = (bucket: number) => (WIDTH * (values.at[bucket] as number)) / end;
  const bar = (height: number, from: number, width: number) => `M${from} ${HEIGHT}h${width}v${-barHeight(height / tallest)}h${-width}z`;
  const heights = barHeights(row.counts, values);
  const bars =
    row.counts.length === 1
      ? bar(heights[0]!, ...spanInBucket(data, of, WIDTH))
      : heights.map((height, i) => (height === 0 ? '' : bar(height, x(i), x(i + 1) - x(i)))).join('');
  return (
    <div class="mini-histogram">
      <button
        type="button"
        aria-label={`Show the histograms of ${of.tensor}`}
        title="Histogram of this step (symlog axis); click for all steps"
        onClick={onClick}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={bars} />
        </svg>
      </button>
      <div class="mini-ticks num" aria-hidden="true">
        {values.ticks.map((tick) => (
          <span key={tick.label} style={tickStyle(tick.at / end)}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}
