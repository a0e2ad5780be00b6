/** Colours of the canvas. Its texts keep a contrast of 4.5:1 on the fills below them in both themes. */

import type { OpFamily } from '../model/graph/op_kinds';

export type ThemeName = 'light' | 'dark';

/** Style of a box: `solid` is used if it is too small for fill and border. */
export interface BoxStyle {
  readonly fill: string;
  readonly border: string;
  readonly text: string;
  readonly subtitle: string;
  readonly solid: string;
}

export interface Theme {
  readonly name: ThemeName;
  readonly background: string;
  readonly grid: string;
  /** Expanded scopes by depth; deeper ones repeat the last. */
  readonly scopes: readonly string[];
  readonly scopeBorder: string;
  readonly scopeTitle: string;
  readonly block: string;
  readonly node: BoxStyle;
  readonly small: BoxStyle;
  readonly closed: BoxStyle;
  readonly hollow: BoxStyle;
  readonly fine: BoxStyle;
  readonly inf: BoxStyle;
  readonly nan: BoxStyle;
  readonly edge: string;
  readonly edgeLabel: string;
  readonly bridge: string;
  readonly control: string;
  readonly selection: string;
  readonly input: string;
  readonly output: string;
  readonly hit: string;
  readonly currentHit: string;
  readonly trace: string;
  readonly hover: string;
  readonly families: Readonly<Record<OpFamily, string>>;
}

const LIGHT: Theme = {
  name: 'light',
  background: '#f4f5f7',
  grid: '#e6e9ee',
  scopes: ['#f4f5f7', '#ffffff', '#f5f7fb', '#edf1f8', '#e5ebf4', '#dde5f0', '#d5deec'],
  scopeBorder: '#c3ccd9',
  scopeTitle: '#3f4a5c',
  block: '#e3e8f04d',
  node: { fill: '#ffffff', border: '#b4bfcd', text: '#1a202b', subtitle: '#667184', solid: '#c6cfdb' },
  small: { fill: '#f8f9fb', border: '#ccd3de', text: '#586273', subtitle: '#586273', solid: '#dbe0e8' },
  closed: { fill: '#e4e9f5', border: '#98a8c7', text: '#1a2440', subtitle: '#52607c', solid: '#b3c0d9' },
  hollow: { fill: '#f8f9fb', border: '#cbd2dc', text: '#656e7c', subtitle: '#6c7584', solid: '#e0e4ea' },
  fine: { fill: '#eff7f3', border: '#86bda6', text: '#12352a', subtitle: '#4a7464', solid: '#a5d3c0' },
  inf: { fill: '#ffe4bf', border: '#d97400', text: '#4d2a00', subtitle: '#8a4b00', solid: '#ec9a38' },
  nan: { fill: '#fcd5d9', border: '#d3263a', text: '#560a14', subtitle: '#98202f', solid: '#dd4657' },
  edge: '#8b98ab',
  edgeLabel: '#5c6778',
  bridge: '#a5b1c1',
  control: '#a9a0b8',
  selection: '#3558d6',
  input: '#1f78c8',
  output: '#c05a12',
  hit: '#e0a300',
  currentHit: '#b8007a',
  trace: '#c07600',
  hover: '#5f7be0',
  families: {
    linear: '#3b6fd4',
    activation: '#d0574a',
    math: '#7a68c8',
    reduction: '#a0559f',
    normalisation: '#1f948c',
    shape: '#b98a1c',
    state: '#3f9a56',
    constant: '#98a2b1',
    input: '#2e9ec4',
    control: '#7d8798',
    random: '#c76a9d',
    other: '#8a8f99',
  },
};

const DARK: Theme = {
  name: 'dark',
  background: '#0f1216',
  grid: '#191d23',
  scopes: ['#0f1216', '#161a20', '#1b2027', '#20262f', '#262d37', '#2c343f', '#323b47'],
  scopeBorder: '#3a4453',
  scopeTitle: '#b7c1d1',
  block: '#2a32404d',
  node: { fill: '#262d38', border: '#4a5667', text: '#e8ebf1', subtitle: '#9aa5b6', solid: '#4a5667' },
  small: { fill: '#1e242d', border: '#3a4453', text: '#a7b1c0', subtitle: '#a7b1c0', solid: '#343d4a' },
  closed: { fill: '#2a3450', border: '#5a6d9c', text: '#e6ebfa', subtitle: '#a8b5d4', solid: '#4a5b86' },
  hollow: { fill: '#1a1f26', border: '#363f4c', text: '#8a94a4', subtitle: '#7c8696', solid: '#2a313b' },
  fine: { fill: '#1a2f29', border: '#3d7d66', text: '#d9f0e7', subtitle: '#8abda9', solid: '#2c6853' },
  inf: { fill: '#4a300d', border: '#f09a35', text: '#ffe6c4', subtitle: '#f3bd7b', solid: '#d9862a' },
  nan: { fill: '#4d1a22', border: '#ff6b78', text: '#ffdde0', subtitle: '#ffa3ab', solid: '#e25564' },
  edge: '#66738a',
  edgeLabel: '#98a3b5',
  bridge: '#526076',
  control: '#6b6380',
  selection: '#86a0ff',
  input: '#5cb3f5',
  output: '#f59a55',
  hit: '#f2c230',
  currentHit: '#ff6ac1',
  trace: '#f0a840',
  hover: '#7b93f0',
  families: {
    linear: '#6b9bf2',
    activation: '#ee8075',
    math: '#a493ec',
    reduction: '#c983c8',
    normalisation: '#45bfb4',
    shape: '#d9ae48',
    state: '#64bf7b',
    constant: '#7d8899',
    input: '#5bc0e3',
    control: '#8892a3',
    random: '#e391bf',
    other: '#8a909c',
  },
};

export function themeOf(name: ThemeName): Theme {
  return name === 'dark' ? DARK : LIGHT;
}

export const FONT = '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
