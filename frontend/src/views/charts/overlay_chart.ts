import { colormap, formatColour } from '../../lib/colours';
import { formatCount } from '../../lib/format';
import type { Layout, Trace } from '../../lib/plotly';
import type { Overlay, StepOutline } from '../../model/charts/histogram_overlay';
import { valueAxis } from './histogram_chart';
import { axis, baseLayout, faded, type Palette } from './theme';

/** Colours of the scale from the oldest step to the newest: its ends that could not be seen on the background are left out. */
const ENDS = { light: [0.84, 0.12], dark: [0.3, 1] } as const;
const SHADES = 9;

/** From the pale colour of the oldest step to the strong one of the newest. */
export function ageColours(dark: boolean): string[] {
  return Array.from({ length: SHADES }, (_, i) => ageColour(i / (SHADES - 1), dark));
}

function ageColour(age: number, dark: boolean): string {
  const [oldest, newest] = ENDS[dark ? 'dark' : 'light'];
  const table = colormap('magma');
  const at = 3 * Math.round(255 * (oldest + age * (newest - oldest)));
  return formatColour(table[at] as number, table[at + 1] as number, table[at + 2] as number);
}

/** A line for each outline, in the order in which they are drawn over each other. */
export function overlayTraces(outlines: readonly StepOutline[], step: number | null, colours: Palette, dark: boolean): Trace[] {
  return outlines.map((outline) => {
    const current = outline.step === step;
    return {
      x: outline.x,
      y: outline.y,
      mode: 'lines',
      fill: current ? 'tozeroy' : 'none',
      fillcolor: faded(colours.accent, 0.12),
      line: { width: current ? 2.5 : 1.2, color: current ? colours.accent : ageColour(outline.age, dark) },
      hoveron: 'points',
      hoverinfo: 'text',
      text: outline.buckets.map(
        ({ range, count }) => `step ${outline.step}<br>${range}<br>${formatCount(Number(count.toPrecision(6)))} elements`,
      ),
      name: String(outline.step),
    };
  });
}

/** Exact zeros are cut off a little above everything else. */
const ROOM = 1.08;

export function overlayLayout({ axis: values, top }: Overlay, colours: Palette): Layout {
  return {
    ...baseLayout(colours),
    hovermode: 'closest',
    hoverdistance: 24,
    xaxis: valueAxis(colours, values),
    yaxis: axis(colours, { title: { text: 'elements', standoff: 4 }, range: [0, ROOM * top], tickformat: '~s' }),
  };
}
