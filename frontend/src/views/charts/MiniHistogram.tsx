import { barHeights, histogramAxis, spanInBucket } from '../../model/charts/histogram_axis';
import { tallestBar } from '../../model/charts/histogram_shapes';
import type { Histograms, Snapshot, SnapshotHistogram } from '../../model/wire/answers';

const WIDTH = 400;
const HEIGHT = 56;

/** Exact zeros are clipped at the top; a single element is still visible. */
function barHeight(share: number): number {
  return Math.max(1, HEIGHT * Math.min(1, 0.9 * share));
}

/** A label is centred on its tick, except near the ends, where it would be cut. In percent of the width. */
const backOf = (share: number): number => (share < 0.08 ? 0 : share > 0.92 ? 100 : 50);

function tickStyle(share: number) {
  return { left: `${100 * share}%`, transform: `translateX(-${backOf(share)}%)` };
}

interface MiniHistogramProps {
  /** Of one step, on a symlog axis; null while loading. */
  data: Histograms | null;
  /** Its tensor. */
  of: Snapshot;
  onClick: () => void;
}

/** Small histogram of one step; the tab shows it large and over time. */
export function MiniHistogram({ data, of, onClick }: MiniHistogramProps) {
  const row = data?.rows[0];
  if (!data || !row || row.counts.length === 0) return <div class="mini-histogram" />;
  const shape = smallHistogram({ edges: data.edges, zero_bucket: data.zero_bucket, counts: row.counts }, of);
  return (
    <div class="mini-histogram">
      <button
        type="button"
        aria-label={`Show the histograms of ${of.tensor}`}
        title="Histogram of this step (symlog axis); click for all steps"
        onClick={onClick}
      >
        <Bars shape={shape} />
      </button>
      <Ticks shape={shape} />
    </div>
  );
}

/** A small histogram: its bars as a path, and the positions of its ticks, relative to the width. */
interface SmallHistogram {
  readonly bars: string;
  readonly ticks: readonly { at: number; label: string }[];
}

/** Bars whose height is elements per octave; `of` gives the range of values in a single bucket. */
export function smallHistogram(
  { edges, zero_bucket, counts }: SnapshotHistogram,
  of: { zero: number; min: number; max: number },
): SmallHistogram {
  const row = { counts, zero: of.zero };
  const values = histogramAxis({ edges, zero_bucket, rows: [row] }, 'symlog');
  const tallest = tallestBar([row], values);
  const end = values.at[values.at.length - 1] ?? 1;
  const x = (bucket: number) => (WIDTH * (values.at[bucket] as number)) / end;
  const bar = (height: number, from: number, width: number) =>
    `M${pixels(from)} ${HEIGHT}h${pixels(width)}v${pixels(-barHeight(height / tallest))}h${pixels(-width)}z`;
  const heights = barHeights(counts, values);
  const bars =
    counts.length === 1
      ? bar(heights[0]!, ...spanInBucket({ edges, zero_bucket }, of, WIDTH))
      : heights.map((height, i) => (height === 0 ? '' : bar(height, x(i), x(i + 1) - x(i)))).join('');
  return { bars, ticks: apart(values.ticks.map(({ at, label }) => ({ at: at / end, label }))) };
}

/** Widths in a narrow chart: of a character, and between labels. */
const [CHARACTER, GAP] = [0.028, 0.03];

/** Ticks whose labels do not touch: first 0, then the ends, then others that fit. */
export function apart<T extends { at: number; label: string }>(ticks: readonly T[]): T[] {
  const rank = (tick: T): number => (tick.label === '0' ? 0 : tick === ticks[0] || tick === ticks[ticks.length - 1] ? 1 : 2);
  const kept: T[] = [];
  const span = ({ at, label }: T): [number, number] => {
    const [width, back] = [label.length * CHARACTER, backOf(at) / 100];
    return [at - back * width, at + (1 - back) * width];
  };
  for (const tick of [...ticks].sort((a, b) => rank(a) - rank(b))) {
    const [left, right] = span(tick);
    const isFree = kept.map(span).every(([low, high]) => right + GAP < low || high + GAP < left);
    if (isFree) kept.push(tick);
  }
  return ticks.filter((tick) => kept.includes(tick));
}

const pixels = (value: number): number => Math.round(100 * value) / 100;

export function Bars({ shape }: { shape: SmallHistogram }) {
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={shape.bars} />
    </svg>
  );
}

export function Ticks({ shape }: { shape: SmallHistogram }) {
  return (
    <div class="mini-ticks num" aria-hidden="true">
      {shape.ticks.map((tick) => (
        <span key={tick.label} style={tickStyle(tick.at)}>
          {tick.label}
        </span>
      ))}
    </div>
  );
}
