import 'virtual:plotly.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { downloadBlob } from '../../lib/download';
import { type Layout, loadPlotly, type PlotElement, type PlotEvent, type Trace } from '../../lib/plotly';
import { useSize } from '../kit/hooks';

interface PlotProps {
  traces: Trace[];
  layout: Layout;
  label: string;
  /** Name of the file when the chart is saved. */
  saveAs: string;
  /** Whether the chart has a canvas below the axes, which an SVG would lack. */
  painted?: boolean;
  onClick?: (event: PlotEvent) => void;
  onHover?: (event: PlotEvent | null) => void;
  /** The selected range of the x axis; null after a double click. The chart itself does not change. */
  onBrush?: (range: [number, number] | null) => void;
  /** Called after every drawing, with the chart's element (for additions beside Plotly). */
  onDrawn?: (element: PlotElement) => void;
}

/** A Plotly chart that fills its parent. */
export function Plot({ traces, layout, label, saveAs, painted = false, onClick, onHover, onBrush, onDrawn }: PlotProps) {
  const { ref, width, height } = useSize<HTMLElement>();
  const [failed, setFailed] = useState(false);
  const handlers = useRef({ onClick, onHover, onBrush, onDrawn });
  handlers.current = { onClick, onHover, onBrush, onDrawn };

  useLayoutEffect(() => {
    const element = ref.current;
    if (!element || width === 0 || height === 0) return;
    let stale = false;
    loadPlotly()
      .then(async (plotly) => {
        if (stale) return;
        const first = !element.classList.contains('js-plotly-plot');
        const drawn = await plotly.react(
          element,
          traces,
          { ...layout, width, height },
          config(saveAs, handlers.current.onBrush !== undefined, painted),
        );
        if (first) listen(drawn, handlers);
        handlers.current.onDrawn?.(drawn);
      })
      .catch(() => setFailed(true));
    return () => {
      stale = true;
    };
  }, [traces, layout, width, height, saveAs]);

  useEffect(() => {
    const element = ref.current;
    return () => {
      if (element) void loadPlotly().then((plotly) => plotly.purge(element));
    };
  }, []);

  if (failed)
    return <p class="muted plot-failed">The chart could not be drawn. Reload the page; the numbers are in the table of tensors too.</p>;
  return <figure class="plot" ref={ref} aria-label={label} />;
}

type Handlers = { current: { [K in 'onClick' | 'onHover' | 'onBrush' | 'onDrawn']: PlotProps[K] | undefined } };

function listen(element: PlotElement, handlers: Handlers): void {
  element.on('plotly_click', (event) => handlers.current.onClick?.(event));
  element.on('plotly_hover', (event) => handlers.current.onHover?.(event));
  element.on('plotly_unhover', () => handlers.current.onHover?.(null));
  element.on('plotly_relayout', (change) => {
    const [from, to] = [change['xaxis.range[0]'], change['xaxis.range[1]']];
    if (!handlers.current.onBrush || typeof from !== 'number' || typeof to !== 'number') return;
    void loadPlotly().then((plotly) => plotly.relayout(element, { 'xaxis.autorange': true }));
    handlers.current.onBrush([from, to]);
  });
  element.on('plotly_doubleclick', () => handlers.current.onBrush?.(null));
  element.on('plotly_afterplot', () => handlers.current.onDrawn?.(element));
}

function config(filename: string, brush: boolean, painted: boolean): Record<string, unknown> {
  return {
    displaylogo: false,
    responsive: false,
    doubleClick: 'reset',
    toImageButtonOptions: { format: 'svg', filename },
    modeBarButtons: [[...(brush ? [] : ['zoom2d', 'pan2d', 'resetScale2d']), ...(painted ? [] : ['toImage']), pngButton(filename)]],
  };
}

const pngButton = (filename: string) => ({
  name: 'png',
  title: 'Download as PNG',
  icon: { width: 24, height: 24, path: 'M3 4V20H21V4H3ZM5 6H19V14L15 9L11 14L8 11L5 15V6Z' },
  click: (element: HTMLElement) => void savePng(element, filename),
});

/** Pixels of a saved chart per pixel of the page. */
const PNG_SCALE = 2;

async function savePng(element: HTMLElement, filename: string): Promise<void> {
  downloadBlob(`${filename}.png`, await chartImage(element, 'png'));
}

/** A drawn chart as a file: a PNG has the page's background and the painted canvas. */
export async function chartImage(element: HTMLElement, format: 'png' | 'svg'): Promise<Blob> {
  const { clientWidth: width, clientHeight: height } = element;
  const plotly = await loadPlotly();
  if (format === 'svg') {
    const address = await plotly.toImage(element, { format, width, height, scale: 1 });
    return new Blob([decodeURIComponent(address.slice(address.indexOf(',') + 1))], { type: 'image/svg+xml' });
  }
  const image = new Image();
  image.src = await plotly.toImage(element, { format, width, height, scale: PNG_SCALE });
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width * PNG_SCALE, height * PNG_SCALE];
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser cannot export an image of this size. Use SVG.');
  context.fillStyle = getComputedStyle(element).getPropertyValue('--surface');
  context.fillRect(0, 0, canvas.width, canvas.height);
  const below = element.parentElement?.querySelector<HTMLCanvasElement>(':scope > canvas');
  for (const layer of [below, image]) if (layer) context.drawImage(layer, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
  if (!blob) throw new Error('This browser cannot export an image of this size. Use SVG.');
  return blob;
}
