import { describe, expect, test } from 'vitest';
import { contrast, luminance, mixColours, parseColour } from '../lib/colours';
import { makeGraph, makeStep, treeOf } from '../model/graph/graph_fixture';
import { NAN } from '../model/graph/node_values';
import { COLOUR_KINDS, type ColourBy } from '../model/wire/graph';
import { makeColouring } from './colouring';
import { CATEGORY_COUNT, categoryStyle, scaleColours, scaleStyle, shareColours } from './palettes';
import { type BoxStyle, themeOf } from './theme';

const THEMES = [themeOf('light'), themeOf('dark')];

describe('colours', () => {
  test.each(THEMES)('texts of the $name theme can be read on their boxes', (theme) => {
    const styles: BoxStyle[] = [
      theme.node,
      theme.closed,
      theme.fine,
      theme.inf,
      theme.nan,
      ...Array.from({ length: CATEGORY_COUNT }, (_, i) => categoryStyle(theme, i)),
    ];
    for (const style of styles) {
      expect(contrast(style.text, style.fill)).toBeGreaterThan(4.5);
      expect(contrast(style.subtitle, style.fill)).toBeGreaterThan(4.5);
    }
    for (const style of [theme.hollow, theme.small]) expect(contrast(style.text, style.fill)).toBeGreaterThan(4.5);
    for (const colour of [...scaleColours(theme, false), ...scaleColours(theme, true), ...shareColours(theme)])
      expect(contrast(scaleStyle(colour, theme).text, colour)).toBeGreaterThan(4.5);
  });

  test('the scale of magnitudes gets steadily brighter', () => {
    const brightness = scaleColours(THEMES[0]!, false).map(luminance);
    expect(brightness.every((value, i) => i === 0 || value >= brightness[i - 1]! - 1e-3)).toBe(true);
  });

  test('mixing', () => {
    expect(mixColours('#000000', '#ffffff', 0.5)).toBe('#808080');
    expect(parseColour('#0a0b0c')).toEqual([10, 11, 12]);
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  });
});

describe('makeColouring', () => {
  const graph = makeGraph([
    { path: 'a/p', op: 'MatMul', layer: 'one' },
    { path: 'a/q', op: 'MatMul', layer: 'one' },
    { path: 'b/t', op: 'Add', layer: 'two' },
    { path: 'b/u', op: 'MatMul' },
  ]);
  const tree = treeOf(graph);
  const overlay = makeStep([
    { node: 0, nan: 1, abs_max: 1 },
    { node: 2, abs_max: 100 },
  ]);
  const [a, b] = [tree.nodeCount + 1, tree.nodeCount + 2];
  const colouring = (colour: ColourBy, step = overlay as typeof overlay | null) =>
    makeColouring({ graph, tree, overlay: step, colour, theme: THEMES[0]! });
  const items = (colour: ColourBy): string[] => {
    const { legend } = colouring(colour);
    return legend.kind === 'items' ? legend.items.map((item) => `${item.label} ${item.count}`) : [];
  };

  test('health: scopes take the worst, the legend counts nodes', () => {
    const { index, styles } = colouring({ kind: 'health' });
    expect([0, 1, 2, a, b].map((entity) => styles[index[entity]!])).toEqual([
      THEMES[0]!.nan,
      THEMES[0]!.hollow,
      THEMES[0]!.fine,
      THEMES[0]!.nan,
      THEMES[0]!.fine,
    ]);
    expect(items({ kind: 'health' })).toEqual(['NaN 1', 'Inf 0', 'finite 1', 'not captured 2']);
  });

  test('health: what was captured and not counted is neither fine nor left out', () => {
    const uncounted = makeStep([
      { node: 0, nan: Number.NaN, pos_inf: Number.NaN, neg_inf: Number.NaN },
      { node: 2, abs_max: 1 },
    ]);
    const { index, styles, legend } = colouring({ kind: 'health' }, uncounted);
    expect([0, 1, 2, a].map((entity) => styles[index[entity]!])).toEqual([
      THEMES[0]!.node,
      THEMES[0]!.hollow,
      THEMES[0]!.fine,
      THEMES[0]!.node,
    ]);
    const told = legend.kind === 'items' ? legend.items.map((item) => `${item.label} ${item.count}`) : [];
    expect(told).toEqual(['NaN 0', 'Inf 0', 'finite 1', 'not counted 1', 'not captured 2']);
  });

  test('categories: the commonest first, scopes only where they are of one kind', () => {
    const { index } = colouring({ kind: 'op' });
    expect(items({ kind: 'op' })).toEqual(['MatMul 3', 'Add 1']);
    expect(index[a]).toBe(index[0]);
    expect(index[b]).toBe(0);
    expect(items({ kind: 'layer' })).toEqual(['one 2', 'two 1', 'no layer 1']);
  });

  test('more kinds than colours: the rarest share one', () => {
    const many = makeGraph(Array.from({ length: 30 }, (_, i) => ({ path: `n${i}`, op: `Op${i % 20}` })));
    const { legend } = makeColouring({ graph: many, tree: treeOf(many), overlay: null, colour: { kind: 'op' }, theme: THEMES[0]! });
    expect(legend.kind === 'items' && legend.items).toHaveLength(CATEGORY_COUNT);
    expect(legend.kind === 'items' && legend.items[CATEGORY_COUNT - 1]!.label).toBe('9 others');
  });

  test('statistics: what was not captured is hollow', () => {
    const { index, styles, legend } = colouring({ kind: 'statistic', statistic: 'abs_max' });
    expect(styles[index[1]!]).toBe(THEMES[0]!.hollow);
    expect(index[2]).toBeGreaterThan(index[0]!);
    expect(legend.kind === 'scale' && legend.ticks).toHaveLength(5);
  });

  const labels = (colour: ColourBy, step = overlay) => {
    const { legend } = colouring(colour, step);
    return legend.kind === 'scale' ? legend.others.map(({ label }) => label) : [];
  };

  test('statistics: what was captured and has nothing finite is not as what was not captured', () => {
    const bad = makeStep([
      { node: 0, nan: 4, abs_max: Number.NaN },
      { node: 1, pos_inf: 4, abs_max: Number.NaN },
      { node: 2, abs_max: Number.NaN },
      { node: 3, abs_max: 1 },
    ]);
    const colour: ColourBy = { kind: 'statistic', statistic: 'abs_max' };
    const { index, styles } = colouring(colour, bad);
    expect([0, 1, 2].map((entity) => styles[index[entity]!])).toEqual([THEMES[0]!.nan, THEMES[0]!.inf, THEMES[0]!.node]);
    expect(labels(colour, bad)).toEqual(['not captured', 'not numeric', 'all Inf', 'all NaN']);
    expect(labels(colour)).toEqual(['not captured']);
  });

  test('statistics: with a range over all steps a value has the same colour at each of them', () => {
    const range = { least: 0.01, low: 0.1, high: 1000, largest: 1e4, zeros: false };
    const later = makeStep([
      { node: 0, abs_max: 1 },
      { node: 2, abs_max: 1e4 },
    ]);
    const at = (step: typeof overlay, own?: typeof range) =>
      colouring({ kind: 'statistic', statistic: 'abs_max', ...(own && { range: own }) }, step);
    expect(at(later, range).index[0]).toBe(at(overlay, range).index[0]);
    const [shared, own] = [at(later, range).legend, at(later).legend];
    expect(shared.kind === 'scale' && shared.reach).toBe('one scale for all steps');
    expect(own.kind === 'scale' && own.reach).toBe('scale of this step');
    expect(shared.kind === 'scale' && shared.ticks.map(({ label }) => label)).toEqual(['≤ 0.1', '1', '10', '100', '≥ 1,000']);
  });

  test.each(THEMES)('no share recedes into the background of the $name theme', (theme) => {
    const colours = shareColours(theme);
    const away = (colour: string) => contrast(colour, theme.background);
    expect(away(colours[0]!)).toBeLessThan(1.5);
    expect(away(colours.at(-1)!)).toBeGreaterThan(4);
  });

  test.each(COLOUR_KINDS)('%s works without a step, and marks NaN whatever the colours mean', (kind) => {
    expect(colouring({ kind }, null).index).toHaveLength(tree.nodeCount + tree.scopeCount);
    expect(colouring({ kind }).health[a]).toBe(NAN);
  });
});
