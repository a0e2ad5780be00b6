import { useMemo, useRef, useState } from 'preact/hooks';
import { colormap } from '../../lib/colours';
import type { PlotElement } from '../../lib/plotly';
import { formatCount } from '../../lib/text/format';
import { barHeights, type HistogramAxis } from '../../model/charts/histogram_axis';
import { tallestBar } from '../../model/charts/histogram_shapes';
import type { HistogramRow } from '../../model/wire/answers';
import type { ChartColours } from './chart_theme';
import { heatmapLayout } from './histogram_chart';
import { Plot } from './Plot';

interface HeatmapProps {
  rows: HistogramRow[];
  values: HistogramAxis;
  labels: string[];
  step: number | null;
  colours: ChartColours;
  dark: boolean;
  saveAs: string;
  onStep: (step: number) => void;
  onHover: (step: number | null) => void;
}

/** A bucket of a step, and the position of the pointer. */
interface Cell {
  row: HistogramRow;
  bucket: number;
  x: number;
  y: number;
}

/** No clicks or hover: Plotly only draws the axes, zooms and pans. */
const NO_TRACES = [{ x: [], y: [] }];

/**
 * Steps across, values upwards, counts as colour. The colours are painted on a canvas below Plotly's axes: Plotly's own heatmap is a
 * data: image with a style attribute, which the page's `style-src 'self'` refuses.
 */
export function HistogramHeatmap(props: HeatmapProps) {
  const { rows, values, labels, step, colours, dark, saveAs, onStep, onHover } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const plot = useRef<PlotElement | null>(null);
  const [hover, setHover] = useState<Cell | null>(null);
  const index = rows.findIndex((row) => row.step === step);
  const layout = useMemo(() => heatmapLayout(rows, values, index, colours), [rows, values, index, colours]);
  const at = (event: MouseEvent) => cellAt(event, canvas.current, plot.current, rows, values);
  const point = (cell: Cell | null) => {
    setHover(cell);
    onHover(cell?.row.step ?? null);
  };
  const onClick = (event: MouseEvent) => {
    const cell = at(event);
    if (cell) onStep(cell.row.step);
  };
  return (
    <div class="chart heatmap" onPointerMove={(event) => point(at(event))} onPointerLeave={() => point(null)} onClick={onClick}>
      <canvas ref={canvas} aria-hidden="true" />
      <Plot
        traces={NO_TRACES}
        layout={layout}
        label="Histograms over the steps as a heatmap"
        saveAs={saveAs}
        painted
        onDrawn={(element) => {
          plot.current = element;
          if (canvas.current) paint(canvas.current, element, rows, values, dark);
        }}
      />
      {hover && (
        <div
          class="tooltip num"
          style={{ left: `${Math.min(hover.x + 12, (canvas.current?.clientWidth ?? 0) - 230)}px`, top: `${hover.y + 12}px` }}
        >
          step {hover.row.step} · {labels[hover.bucket]} · {formatCount(hover.row.counts[hover.bucket] ?? 0)}
        </div>
      )}
    </div>
  );
}

/** The cell below the pointer, by Plotly's axes; null beside them. */
function cellAt(
  event: MouseEvent,
  canvas: HTMLCanvasElement | null,
  plot: PlotElement | null,
  rows: HistogramRow[],
  values: HistogramAxis,
): Cell | null {
  const full = plot?._fullLayout;
  const box = canvas?.getBoundingClientRect();
  if (!full || !box) return null;
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const row = rows[Math.round(full.xaxis.p2l(x - full.xaxis._offset))];
  const value = full.yaxis.p2l(y - full.yaxis._offset);
  const bucket = values.at.findIndex((edge, i) => value >= edge && value < (values.at[i + 1] ?? edge));
  return row && bucket >= 0 ? { row, bucket, x, y } : null;
}

function paint(canvas: HTMLCanvasElement, element: PlotElement, rows: HistogramRow[], values: HistogramAxis, dark: boolean): void {
  const full = element._fullLayout;
  const context = canvas.getContext('2d');
  if (!full || !context) return;
  const { xaxis, yaxis } = full;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = element.clientWidth * ratio;
  canvas.height = element.clientHeight * ratio;
  context.scale(ratio, ratio);
  context.beginPath();
  context.rect(xaxis._offset, yaxis._offset, xaxis._length, yaxis._length);
  context.clip();
  const table = colormap(dark ? 'magma' : 'viridis');
  rows.forEach((row, i) => {
    const most = tallestBar([row], values);
    const [left, right] = [xaxis._offset + xaxis.l2p(i - 0.5), xaxis._offset + xaxis.l2p(i + 0.5)];
    barHeights(row.counts, values).forEach((height, bucket) => {
      const place = 3 * Math.round(255 * Math.sqrt(Math.min(1, height / most)));
      const [top, bottom] = [yaxis.l2p(values.at[bucket + 1] as number), yaxis.l2p(values.at[bucket] as number)];
      context.fillStyle = `rgb(${table[place]} ${table[place + 1]} ${table[place + 2]})`;
      // Half a pixel of overlap: no seams between cells.
      context.fillRect(left, yaxis._offset + top, right - left + 0.5, bottom - top + 0.5);
    });
  });
}
