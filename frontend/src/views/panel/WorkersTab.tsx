import { batch } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bitmapOf, sizedContext } from '../../lib/canvas';
import { placeAfterKey, type TablePlace } from '../../lib/keyboard';
import { counted, formatNumber } from '../../lib/text/format';
import { workerName } from '../../model/wire/names';
import { isShare, NODE_STATISTICS, type NodeStatistic, STATISTIC_TITLES, type ValueScale } from '../../model/wire/value_scale';
import { type Cells, cellsOf, drifting, incomplete, type WorkerGrid } from '../../model/wire/worker_grid';
import { captured, gridStatistic, hoveredStep, workerGrid } from '../../state/graph/node';
import { theme } from '../../state/page/preferences';
import { runDetail, workerId } from '../../state/runs';
import { chooseWorker } from '../../state/selection';
import { goToStep, step } from '../../state/steps';
import { type ChartColours, chartColours } from '../charts/chart_theme';
import { Segmented, Select } from '../kit/Button';
import { ColourScale } from '../kit/ColourScale';
import { useSize } from '../kit/hooks';
import { Failure } from '../kit/Message';
import { colormapOf } from '../timeline/timeline_cells';
import { NotCaptured } from './panel_notices';

const SHOWN = [
  { value: 'value', label: 'Value' },
  { value: 'median', label: 'Minus median' },
] as const;

/** One tensor on all workers: a row each, worst first, and steps across. */
export function WorkersTab() {
  const grid = workerGrid.data.value;
  const [chosen, choose] = useState<'value' | 'median' | null>(null);
  const shown = chosen ?? (grid && drifting(grid) > 0 ? 'median' : 'value');
  const colours = useMemo(() => chartColours(theme.value), [theme.value]);
  const cells = useMemo(() => grid && cellsOf(grid, shown === 'median', colours['nan-fill'], colours.border), [grid, shown, colours]);
  if (captured.value === false) return <NotCaptured />;
  if (grid === null || cells === null)
    return workerGrid.error.value ? <Failure error={workerGrid.error.value} retry={workerGrid.reload} /> : null;
  return (
    <div class="tab-body fill">
      <div class="tab-bar">
        <Select
          label="Statistic"
          hideLabel
          value={gridStatistic.value}
          onChange={(name) => {
            gridStatistic.value = name as NodeStatistic;
          }}
          testid="worker-statistic"
        >
          {NODE_STATISTICS.map((name) => (
            <option key={name} value={name}>
              {STATISTIC_TITLES[name]}
            </option>
          ))}
        </Select>
        <Segmented label="Colours" options={SHOWN} value={shown} onChange={choose} />
        <Legend scale={cells.scale} />
      </div>
      <Strip grid={grid} cells={cells} colours={colours} />
      <p class="chart-note faint" data-testid="worker-note">
        {note(grid)}
      </p>
    </div>
  );
}

function Legend({ scale }: { scale: ValueScale }) {
  return (
    <span class="row num faint">
      {scale.ticks[0]?.label}
      <ColourScale name={colormapOf(scale)} />
      {scale.ticks.at(-1)?.label}
    </span>
  );
}

function note(grid: WorkerGrid): string {
  const [leave, miss, all] = [drifting(grid), incomplete(grid), grid.worker.length];
  const others = (runDetail.value?.workers.length ?? all) - all;
  return [
    `${counted(all, 'worker')}, worst first.`,
    leave > 0 && `${leave} differ${leave > 1 ? '' : 's'} from the median, the first at step ${firstStep(grid)}.`,
    miss > 0 && `${counted(miss, 'worker')} captured fewer steps.`,
    others > 0 && `${counted(others, 'worker')} did not capture it.`,
    grid.step.length < grid.ofSteps && `${grid.step.length} of ${grid.ofSteps} steps, evenly spaced.`,
    'The line is the median; the band spans minimum to maximum. Click a cell to open its step; Ctrl+wheel, + and − zoom.',
  ]
    .filter(Boolean)
    .join(' ');
}

const firstStep = ({ firstDiffering }: WorkerGrid): number => Math.min(...firstDiffering.filter((first) => first >= 0));

/** CSS pixels: room for names, and for the median's line; row heights, and from which on rows have names. */
const [NAMES, HEAD, LEAST, MOST, NAMED] = [76, 52, 2, 24, 11];

function Strip({ grid, cells, colours }: { grid: WorkerGrid; cells: Cells; colours: ChartColours }) {
  const { ref, width, height } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [at, setAt] = useState<TablePlace | null>(null);
  const bitmap = useMemo(() => bitmapOf(cells), [cells]);
  const [rows, columns] = [grid.worker.length, grid.step.length];
  const size = limited(zoom * Math.min(MOST, Math.max(NAMED + 1, (height - HEAD) / rows)));
  const chosen = { y: useMemo(() => rowOf(grid, workerId.value), [grid, workerId.value]), x: grid.step.indexOf(step.value ?? -1) };
  const view: View = { width, height, size, scroll, unit: (width - NAMES) / columns };

  useLayoutEffect(() => {
    const context = sizedContext(canvas.current, width, height);
    if (context) draw(context, grid, bitmap, view, colours, chosen, at);
  }, [bitmap, width, height, size, scroll, colours, chosen.x, chosen.y, at]);
  useEffect(
    () => () => {
      hoveredStep.value = null;
    },
    [],
  );

  const point = (place: TablePlace | null) => {
    setAt(place);
    hoveredStep.value = place && grid.step[place.x]!;
  };
  const placeOf = (event: MouseEvent): TablePlace | null => {
    const x = Math.floor((event.offsetX - NAMES) / view.unit);
    const y = Math.floor((event.offsetY - HEAD + scroll) / size);
    return event.offsetY >= HEAD && y < rows && x < columns ? { y, x: Math.max(0, x) } : null;
  };
  const go = ({ y, x }: TablePlace) =>
    batch(() => {
      goToStep(grid.step[x]!);
      chooseWorker(grid.worker.at(y));
    });
  /** The row at `y` pixels stays where it is. */
  const zoomBy = (factor: number, y = 0) => {
    const next = limited(size * factor);
    setZoom((zoom * next) / size);
    const top = ((scroll + y) * next) / size - y;
    requestAnimationFrame(() => ref.current?.scrollTo(0, top));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.floor((height - HEAD) / size);
    const from = at ?? { y: Math.max(0, chosen.y), x: Math.max(0, chosen.x) };
    const next = event.shiftKey ? null : placeAfterKey(event, from, { rows, columns, page });
    if (next) {
      point(next);
      const top = next.y * size;
      ref.current!.scrollTop = Math.max(Math.min(scroll, top), top + size + HEAD - height);
    } else if (event.key === 'Enter') go(from);
    else if (event.key === '+' || event.key === '-') zoomBy(event.key === '+' ? 1.5 : 1 / 1.5);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="chart worker-strip"
      ref={ref}
      role="application"
      tabIndex={0}
      aria-label="Workers down, steps across. Arrow keys move, Enter opens the step."
      onScroll={(event) => {
        setScroll(event.currentTarget.scrollTop);
      }}
      onWheel={(event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoomBy(Math.exp(-event.deltaY * 0.002), Math.max(0, event.offsetY - HEAD));
      }}
      onKeyDown={onKeyDown}
      onBlur={() => point(null)}
      data-testid="worker-strip"
    >
      <canvas
        ref={canvas}
        aria-hidden="true"
        onPointerMove={(event) => point(placeOf(event))}
        onPointerLeave={() => point(null)}
        onClick={(event) => {
          const place = placeOf(event);
          if (place) go(place);
        }}
      />
      <div style={{ height: `${HEAD + rows * size - height}px` }} />
      {at && (
        <div class="tooltip num" role="status" style={tipPlace(at, view)} data-testid="worker-tip">
          {describe(grid, at)}
        </div>
      )}
    </div>
  );
}

const limited = (size: number): number => Math.min(MOST, Math.max(LEAST, size));

function rowOf({ worker }: WorkerGrid, id: string | null): number {
  let row = worker.length - 1;
  while (row >= 0 && worker.at(row) !== id) row--;
  return row;
}

function nameAt({ worker }: WorkerGrid, row: number): string {
  return workerName(worker.at(row), runDetail.value?.workers ?? []);
}

function describe(grid: WorkerGrid, { y, x }: TablePlace): string {
  const { statistic, value, median, low, high } = grid;
  const cell = y * grid.step.length + x;
  const text = (number: number) => (isShare(statistic) ? `${formatNumber(100 * number, 9)} %` : formatNumber(number, 9));
  const own = grid.captured[cell] ? `${STATISTIC_TITLES[statistic]} ${text(value[cell]!)}` : 'not captured';
  return `${nameAt(grid, y)} · step ${grid.step[x]} · ${own} · median ${text(median[x]!)} · ${text(low[x]!)} … ${text(high[x]!)}`;
}

interface View {
  width: number;
  height: number;
  /** Height of a row, and width of a step. */
  size: number;
  unit: number;
  scroll: number;
}

const WIDTH = 260;

function tipPlace({ y, x }: TablePlace, { width, height, size, unit, scroll }: View) {
  const top = HEAD + y * size;
  const below = top - scroll + size + 70 < height;
  return {
    left: `${Math.max(0, Math.min(NAMES + x * unit, width - WIDTH))}px`,
    top: `${below ? top + size + 6 : top - 62}px`,
    maxWidth: `${WIDTH}px`,
  };
}

function draw(
  context: CanvasRenderingContext2D,
  grid: WorkerGrid,
  bitmap: HTMLCanvasElement,
  view: View,
  colours: ChartColours,
  chosen: TablePlace,
  at: TablePlace | null,
): void {
  const { height, size, unit, scroll, width } = view;
  context.font = '10px Inter Variable, system-ui, sans-serif';
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmap, NAMES, HEAD - scroll, width - NAMES, bitmap.height * size);
  const drift = drifting(grid) > 0;
  const last = Math.min(grid.worker.length, Math.ceil((scroll + height - HEAD) / size));
  for (let row = Math.floor(scroll / size); row < last; row++) {
    const top = HEAD + row * size - scroll;
    if (size >= NAMED) {
      context.fillStyle = colours.surface;
      context.fillRect(NAMES, top + size - 1, width, 1);
    }
    const mark = drift && grid.differing[row]! > 0 ? colours.nan : grid.missing[row]! > 0 ? colours.inf : null;
    context.fillStyle = mark ?? colours['text-2'];
    if (size >= NAMED) context.fillText(nameAt(grid, row), 8, top + size / 2 + 3.5, NAMES - 12);
    if (mark !== null) context.fillRect(0, top, 4, Math.max(2, size - 1));
  }
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  if (chosen.x >= 0) context.strokeRect(NAMES + chosen.x * unit, HEAD - scroll, Math.max(3, unit), bitmap.height * size);
  if (chosen.y >= 0) context.strokeRect(NAMES, HEAD + chosen.y * size - scroll, width - NAMES - 1, size);
  context.strokeStyle = colours.text;
  if (at) context.strokeRect(NAMES + at.x * unit, HEAD + at.y * size - scroll, Math.max(3, unit), size);
  drawMedian(context, grid, view, colours);
}

/** Above the rows: the median over the workers as a line, minimum to maximum as a band. */
function drawMedian(context: CanvasRenderingContext2D, grid: WorkerGrid, { width, unit }: View, colours: ChartColours): void {
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, width, HEAD);
  const known = [...grid.low, ...grid.high].filter(Number.isFinite);
  if (known.length === 0) return;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i: number) => NAMES + (i + 0.5) * unit;
  const y = (value: number) => HEAD - 6 - (HEAD - 12) * (high > low ? (value - low) / (high - low) : 0.5);
  context.fillStyle = colours.band;
  const line = new Path2D();
  grid.median.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const top = y(grid.high[i]!);
    context.fillRect(x(i) - unit / 2, top, unit + 0.5, Math.max(1, y(grid.low[i]!) - top));
    line.lineTo(x(i), y(value));
  });
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.5;
  context.stroke(line);
  context.fillStyle = colours['text-2'];
  context.fillText(formatNumber(high, 3), 8, 12, NAMES - 12);
  context.fillText(formatNumber(low, 3), 8, HEAD - 4, NAMES - 12);
}
