import { histogramAxis, spanInBucket } from '../../model/charts/histogram_axis';
import { tallestCount } from '../../model/charts/histogram_shapes';
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
  const values = histogramAxis(data.edges, data.zero_bucket, 'symlog');
  const tallest = tallestCount([row], values);
  const unit = WIDTH / row.counts.length;
  const bar = (count: number, from: number, width: number) => `M${from} ${HEIGHT}h${width}v${-barHeight(count / tallest)}h${-width}z`;
  const bars =
    row.counts.length === 1
      ? bar(row.counts[0]!, ...spanInBucket(data, of, WIDTH))
      : row.counts.map((count, i) => (count === 0 ? '' : bar(count, i * unit, unit))).join('');
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
          <span key={tick.label} style={tickStyle(tick.at / row.counts.length)}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}
