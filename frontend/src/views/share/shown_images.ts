/** The pictures on the page that can be saved: the graph or the layers, and charts. */

import { graph } from '../../state/graph';
import { pictureSettings } from '../../state/preferences';
import { step } from '../../state/steps';
import { chartImage } from '../charts/Plot';
import { graphOnShow } from '../graph/canvas/navigation';
import { Picture } from '../graph/canvas/picture_export';
import { layersOnShow } from '../layers/LayersView';

export interface ShownImage {
  /** In a sentence; and as the menu calls it. */
  readonly what: string;
  readonly label: string;
  /** What its file is called, behind the run's name. */
  readonly subject: readonly string[];
  file(format: 'png' | 'svg'): Promise<Blob>;
}

/** At most so many charts are listed. */
const MOST_CHARTS = 4;

export function imagesOnShow(): ShownImage[] {
  const at = step.peek() === null ? [] : [`step ${step.peek()}`];
  const subject = [graph.data.peek()?.name ?? '', ...at].filter(Boolean);
  const [ops, layers] = [graphOnShow.peek(), layersOnShow.peek()];
  const found: ShownImage[] = [];
  if (layers !== null)
    found.push({ what: 'layers', label: 'layers', subject, file: (format) => layers.file(format, subject.join(' \u00b7 ')) });
  else if (ops?.drawing && ops.colouring.peek()) {
    const { drawing } = ops;
    const picture = (format: 'png' | 'svg') =>
      new Picture(ops, drawing, { ...pictureSettings.peek(), what: 'shown', format }, subject.join(' \u00b7 '));
    const file = (format: 'png' | 'svg') => picture(format).file(() => undefined, new AbortController().signal);
    found.push({ what: 'graph', label: 'graph as shown', subject, file });
  }
  const charts = [...document.querySelectorAll<HTMLElement>('figure.plot.js-plotly-plot')].filter(({ clientWidth }) => clientWidth > 0);
  charts.slice(0, MOST_CHARTS).forEach((chart, i) => {
    const name = chart.getAttribute('aria-label') ?? `chart ${i + 1}`;
    found.push({ what: 'chart', label: `chart: ${name}`, subject: [...subject, name], file: (format) => chartImage(chart, format) });
  });
  return found;
}
