import type { Plotly } from 'plotly.js-cartesian-dist-min';

export type { Layout, PlotElement, PlotEvent, Trace } from 'plotly.js-cartesian-dist-min';

let loaded: Promise<Plotly> | null = null;

/** Loads Plotly, a separate chunk, for the first chart. */
export function loadPlotly(): Promise<Plotly> {
  loaded ??= importPlotly();
  return loaded;
}

/**
 * Style elements that the bundle adds on load, by id. It reuses existing elements, so nothing violates `style-src 'self'`; the rules come
 * from virtual:plotly.css (the second is for maps, which are not used).
 */
const STYLE_IDS = ['plotly.js-style-global', '9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53'];

async function importPlotly(): Promise<Plotly> {
  for (const id of STYLE_IDS) {
    if (document.getElementById(id)) continue;
    const placeholder = document.createElement('meta');
    placeholder.id = id;
    placeholder.className = 'no-inline-styles';
    document.head.append(placeholder);
  }
  return (await import('plotly.js-cartesian-dist-min')).default;
}
