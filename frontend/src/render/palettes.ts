/** Box styles made from colours: categories, and scales from low to high. */

import { colormap, contrast, formatColour, mixColours } from '../lib/colours';
import type { BoxStyle, Theme } from './theme';

/** Distinguishable without red and green (after Okabe and Ito, and Tol); further kinds share "other". */
const CATEGORIES = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#8a7fd0',
  '#a8a12a',
  '#882255',
  '#44aa99',
  '#7f6a4f',
  '#5c8d3a',
];

export const CATEGORY_COUNT = CATEGORIES.length;

export function categoryStyle(theme: Theme, index: number): BoxStyle {
  const colour = CATEGORIES[index % CATEGORIES.length]!;
  const dark = theme.name === 'dark';
  const fill = mixColours(colour, dark ? '#14171d' : '#ffffff', dark ? 0.62 : 0.74);
  return {
    fill,
    border: dark ? mixColours(colour, '#ffffff', 0.15) : colour,
    text: theme.node.text,
    subtitle: dark ? mixColours('#ffffff', fill, 0.3) : mixColours('#000000', fill, 0.35),
    solid: mixColours(colour, dark ? '#14171d' : '#ffffff', 0.25),
  };
}

/** Steps of a colour scale; 0 is the low end. */
export const SCALE_STEPS = 64;

export function scaleColours(theme: Theme, diverging: boolean): string[] {
  return Array.from({ length: SCALE_STEPS }, (_, i) => {
    const place = i / (SCALE_STEPS - 1);
    return diverging ? divergingColour(theme, place) : viridis(place);
  });
}

/** For shares: 0, the normal value of a healthy graph, fades into the background. */
export function shareColours(theme: Theme): string[] {
  return Array.from({ length: SCALE_STEPS }, (_, i) => divergingColour(theme, 0.5 + i / (SCALE_STEPS - 1) / 2));
}

export function scaleStyle(colour: string, theme: Theme): BoxStyle {
  const text = contrast(colour, '#ffffff') > contrast(colour, '#000000') ? '#ffffff' : '#000000';
  const border = mixColours(colour, theme.name === 'dark' ? '#ffffff' : '#000000', 0.28);
  return { fill: colour, border, text, subtitle: mixColours(text, colour, 0.12), solid: colour };
}

function viridis(place: number): string {
  const table = colormap('viridis');
  const at = 3 * Math.round(place * 255);
  return formatColour(table[at]!, table[at + 1]!, table[at + 2]!);
}

/** Blue over the background's grey to orange-red, so that values near zero fade in both themes. */
const DIVERGING = {
  light: ['#2061a8', '#8dbbe0', '#f3f4f6', '#f1ad84', '#b3371b'],
  dark: ['#6db3f2', '#37618c', '#2b313b', '#91512f', '#f59a63'],
};

function divergingColour(theme: Theme, place: number): string {
  const points = DIVERGING[theme.name];
  const at = place * (points.length - 1);
  const left = Math.min(points.length - 2, Math.floor(at));
  return mixColours(points[left]!, points[left + 1]!, at - left);
}
