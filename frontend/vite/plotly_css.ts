import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Plugin } from 'vite';

const ID = 'virtual:plotly.css';
const BUNDLE = 'plotly.js-cartesian-dist-min';

/**
 * Plotly writes its rules into a style element when it loads, which `style-src 'self'` refuses. This extracts the rules from the bundle
 * at build time into a stylesheet (lib/plotly.ts keeps Plotly from trying).
 */
export function plotlyCss(): Plugin {
  return {
    name: 'plotly-css',
    resolveId: (id) => (id === ID ? `\0${ID}` : null),
    load: (id) => (id === `\0${ID}` ? plotlyRules() : null),
  };
}

export function plotlyRules(): string {
  const bundle = readFileSync(createRequire(import.meta.url).resolve(BUNDLE), 'utf8');
  const start = bundle.indexOf('{"X,X div":');
  const end = bundle.indexOf('};', start);
  if (start < 0 || end < 0) throw new Error(`${BUNDLE} no longer holds its style rules where they were; see vite/plotly_css.ts`);
  const pair = /(["'])((?:(?!\1).)+)\1:(["'])((?:(?!\3).)*)\3/g;
  return [...bundle.slice(start, end).matchAll(pair)]
    .map(([, , selector, , rules]) => `${selectorOf(selector as string)}{${rules}}`)
    .join('\n');
}

/** Plotly's shorthand: X is a chart, Y its notices. */
function selectorOf(selector: string): string {
  return selector.replace(/^,/, ' ,').replace(/X/g, '.js-plotly-plot .plotly').replace(/Y/g, '.plotly-notifier');
}
