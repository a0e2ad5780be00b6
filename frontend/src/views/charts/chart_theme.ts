import type { Layout } from '../../lib/plotly';

/** The page's colours for Plotly and canvases: read from the current CSS variables. */
export type ChartColours = Record<
  | 'surface'
  | 'sunken'
  | 'text'
  | 'text-2'
  | 'text-3'
  | 'border'
  | 'border-strong'
  | 'accent'
  | 'band'
  | 'nan'
  | 'inf'
  | 'zero'
  | 'fine'
  | 'nan-fill'
  | 'inf-fill',
  string
>;

const NAMES = [
  'surface',
  'sunken',
  'text',
  'text-2',
  'text-3',
  'border',
  'border-strong',
  'accent',
  'band',
  'nan',
  'inf',
  'zero',
  'fine',
  'nan-fill',
  'inf-fill',
] as const;

/** @param _theme the current theme: a parameter so that callers depend on it */
export function chartColours(_theme: string): ChartColours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, longHex(style.getPropertyValue(`--${name}`).trim())])) as ChartColours;
}

/** The build shortens `#ffffff` to `#fff`. */
export function longHex(colour: string): string {
  return /^#[0-9a-f]{3}$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, '$&$&') : colour;
}

/** `#rrggbb` with an opacity. */
export function faded(colour: string, opacity: number): string {
  const alpha = Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0');
  return colour + alpha;
}

/** Common layout of all charts: no frame, small type, subtle grid. */
export function baseLayout(colours: ChartColours): Layout {
  return {
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: 'Inter Variable, system-ui, sans-serif', size: 11, color: colours['text-2'] },
    margin: { l: 56, r: 12, t: 8, b: 40 },
    showlegend: false,
    hoverlabel: { bgcolor: colours.surface, bordercolor: colours['border-strong'], font: { color: colours.text, size: 11 } },
    modebar: { bgcolor: faded(colours.surface, 0.85), color: colours['text-3'], activecolor: colours.accent },
    uirevision: 'keep',
    dragmode: 'zoom',
  };
}

export function axis(colours: ChartColours, more: Layout = {}): Layout {
  return {
    gridcolor: colours.border,
    zerolinecolor: colours['border-strong'],
    linecolor: colours.border,
    tickcolor: colours.border,
    ticklen: 3,
    automargin: false,
    ...more,
  };
}

/** A vertical line at the current step. */
export function stepLine(colours: ChartColours, x: number): Layout {
  return {
    type: 'line',
    xref: 'x',
    yref: 'paper',
    x0: x,
    x1: x,
    y0: 0,
    y1: 1,
    line: { color: colours.accent, width: 1.5 },
    layer: 'above',
  };
}

/** The axis of steps: dragging selects a range. */
export function stepAxis(colours: ChartColours, more: Layout = {}): Layout {
  return axis(colours, {
    title: { text: 'step', standoff: 6 },
    showspikes: true,
    spikemode: 'across',
    spikethickness: 1,
    spikedash: 'solid',
    spikecolor: colours['text-3'],
    ...more,
  });
}

/** A small heading above a chart, at a part of the height. */
export function caption(colours: ChartColours, y: number, text: string): Layout {
  return {
    text,
    x: 0,
    y,
    xref: 'paper',
    yref: 'paper',
    xanchor: 'left',
    yanchor: 'bottom',
    showarrow: false,
    font: { size: 11, color: colours['text-3'] },
  };
}

/** Colours distinguishable for all kinds of colour vision (Okabe and Ito 2008), darkened or lightened for the background. */
const LINES = {
  light: ['#0072b2', '#c25500', '#00815e', '#a8457f', '#2c8fc4', '#8a6d00', '#171a21', '#7b5bd0', '#6b6b6b'],
  dark: ['#56b4e9', '#f08a3c', '#33c29a', '#e08bbd', '#8fd0f5', '#f0e442', '#e7e9ee', '#b6a0ff', '#a0a0a0'],
} as const;

export function lineColours(theme: 'light' | 'dark'): readonly string[] {
  return LINES[theme];
}
