/** Style of each entity, and the legend that explains it. */

import type { DictColumn } from '../lib/arrays/columns';
import {
  bytesByEntity,
  FINE,
  forEachUpwards,
  healthByEntity,
  INF,
  NAN,
  NOT_CAPTURED,
  NOT_COUNTED,
  valuesByEntity,
} from '../model/graph/node_values';
import type { ScopeTree } from '../model/graph/tree';
import { VERDICTS } from '../model/wire/comparison';
import type { ColourBy, ColourKind, GraphData } from '../model/wire/graph';
import type { StepStatistics } from '../model/wire/step_statistics';
import { byteScale, isShare, rangeOf, STATISTIC_TITLES, type ValueScale, valueScale } from '../model/wire/value_scale';
import { CATEGORY_COUNT, categoryStyle, SCALE_STEPS, scaleColours, scaleStyle, shareColours } from './palettes';
import type { BoxStyle, Theme } from './theme';

export interface LegendItem {
  readonly label: string;
  readonly style: BoxStyle;
  /** Number of nodes. */
  readonly count: number;
  readonly marker?: 'nan' | 'inf';
}

export type Legend =
  | { readonly kind: 'items'; readonly title: string; readonly items: readonly LegendItem[] }
  | {
      readonly kind: 'scale';
      readonly title: string;
      readonly colours: readonly string[];
      readonly ticks: readonly { readonly place: number; readonly label: string }[];
      /** Steps of the scale; empty if there is no scale over steps. */
      readonly reach: string;
      /** Labels of boxes without a position on the scale. */
      readonly others: readonly Other[];
    };

export interface Colouring {
  /** Index in `styles` for each entity; 0 is the default style (node, small node, collapsed scope). */
  readonly index: Uint8Array;
  readonly styles: readonly BoxStyle[];
  /** Health of each entity, for any colouring: NaN and Inf are always marked. */
  readonly health: Uint8Array;
  readonly legend: Legend;
}

interface ColouringInput {
  readonly graph: GraphData;
  readonly tree: ScopeTree;
  readonly overlay: StepStatistics | null;
  readonly colour: ColourBy;
  readonly theme: Theme;
}

export function makeColouring(input: ColouringInput): Colouring {
  const health = healthByEntity(input.tree, input.overlay);
  const { kind } = input.colour;
  if (kind === 'health') return { ...byHealth(input, health), health };
  if (kind === 'statistic') return { ...byStatistic(input, health), health };
  if (kind === 'size') return { ...bySize(input), health };
  if (kind === 'difference') return { ...byDifference(input), health };
  if (kind === 'changed') return { ...byChange(input), health };
  return { ...byCategory(input, kind), health };
}

type Colours = Omit<Colouring, 'health'>;

function byHealth({ tree, theme }: ColouringInput, health: Uint8Array): Colours {
  const styles = [theme.node, theme.hollow, theme.node, theme.fine, theme.inf, theme.nan];
  const counts = [0, 0, 0, 0, 0];
  for (let row = 0; row < tree.nodeCount; row++) counts[health[tree.entityOf[row]!]!]!++;
  const items: LegendItem[] = [
    { label: 'NaN', style: theme.nan, count: counts[NAN]!, marker: 'nan' },
    { label: 'Inf', style: theme.inf, count: counts[INF]!, marker: 'inf' },
    { label: 'finite', style: theme.fine, count: counts[FINE]! },
    { label: 'not captured', style: theme.hollow, count: counts[NOT_CAPTURED]! },
  ];
  const uncounted = counts[NOT_COUNTED]!;
  if (uncounted > 0) items.splice(3, 0, { label: 'not counted', style: theme.node, count: uncounted });
  return { index: health.map((state) => state + 1), styles, legend: { kind: 'items', title: 'Health', items } };
}

const DIFFERENCE_LABELS: Record<(typeof VERDICTS)[number], string> = {
  diverges: 'diverges',
  amplified: 'amplified',
  inherited: 'inherited',
  noise: 'within tolerance',
  same: 'equal',
};

/** A scope gets the worst verdict of its content. */
function byDifference({ tree, theme, colour }: ColouringInput): Colours {
  const verdicts = colour.verdicts ?? new Uint8Array();
  const styles = differenceStyles(theme);
  const index = new Uint8Array(tree.nodeCount + tree.scopeCount).fill(1);
  const counts = new Array<number>(VERDICTS.length + 1).fill(0);
  for (let row = 0; row < tree.nodeCount; row++) {
    const verdict = verdicts[row] ?? 0;
    counts[verdict]!++;
    index[tree.entityOf[row]!] = 1 + verdict;
  }
  forEachUpwards(tree, (child, scope) => {
    if (index[child]! > 1 && (index[scope] === 1 || index[child]! < index[scope]!)) index[scope] = index[child]!;
  });
  return { index, styles, legend: { kind: 'items', title: 'Difference vs. run B', items: differenceItems(theme, counts) } };
}

/** Styles of a node that was not compared, and of each verdict. Differences within rounding look different from both. */
function differenceStyles(theme: Theme): BoxStyle[] {
  const amplified = scaleStyle(scaleColours(theme, true)[SCALE_STEPS - 1]!, theme);
  return [theme.node, theme.hollow, theme.nan, amplified, theme.inf, theme.closed, theme.fine];
}

/** Legend of a comparison; `counts`: of uncompared nodes, and of each verdict. */
export function differenceItems(theme: Theme, counts: readonly number[]): LegendItem[] {
  const styles = differenceStyles(theme);
  const items: LegendItem[] = VERDICTS.map((verdict, i) => ({
    label: DIFFERENCE_LABELS[verdict],
    style: styles[2 + i]!,
    count: counts[1 + i] ?? 0,
  }));
  return [...items, { label: 'not compared', style: theme.hollow, count: counts[0] ?? 0 }];
}

/** Changes of a what-if (see `changesByRow`); a scope is like its most changed part. */
function byChange({ tree, theme, colour }: ColouringInput): Colours {
  const changes = colour.verdicts ?? new Uint8Array();
  const changed = scaleStyle(scaleColours(theme, true)[0]!, theme);
  const styles = [theme.node, theme.hollow, theme.fine, changed, theme.inf];
  const index = new Uint8Array(tree.nodeCount + tree.scopeCount).fill(1);
  const counts = [0, 0, 0, 0];
  for (let row = 0; row < tree.nodeCount; row++) {
    const change = changes[row] ?? 0;
    counts[change]!++;
    index[tree.entityOf[row]!] = 1 + change;
  }
  forEachUpwards(tree, (child, scope) => {
    index[scope] = Math.max(index[scope]!, index[child]!);
  });
  const labels = ['not computed', 'as recorded', 'changed', 'overridden'];
  const items = labels.map((label, change) => ({ label, style: styles[1 + change]!, count: counts[change]! })).reverse();
  return { index, styles, legend: { kind: 'items', title: 'What-if', items } };
}

type Other = Omit<LegendItem, 'count'>;

/** Kind of a node without a number, by its health: nothing is finite, or it has no such number, like a text. */
function numberless(theme: Theme): readonly Other[] {
  const none = { label: 'not numeric', style: theme.node };
  const others: Other[] = [{ label: 'not captured', style: theme.hollow }, none, none];
  return [...others, { label: 'all Inf', style: theme.inf, marker: 'inf' }, { label: 'all NaN', style: theme.nan, marker: 'nan' }];
}

function byStatistic({ tree, overlay, theme, colour }: ColouringInput, health: Uint8Array): Colours {
  const name = colour.statistic ?? 'abs_max';
  const values = valuesByEntity(tree, overlay, name);
  const scale = valueScale(name, colour.range ?? rangeOf(name, values.subarray(0, tree.nodeCount)));
  const colours = isShare(name) ? shareColours(theme) : scaleColours(theme, scale.diverging);
  const reach = isShare(name) ? '' : colour.range ? 'one scale for all steps' : 'scale of this step';
  return onScale(theme, { values, scale, colours, others: numberless(theme), other: health }, STATISTIC_TITLES[name], reach);
}

function bySize({ graph, tree, overlay, theme }: ColouringInput): Colours {
  const values = bytesByEntity(tree, graph, overlay);
  const scale = byteScale(values.subarray(0, tree.nodeCount));
  const others = [{ label: 'unknown shape', style: theme.hollow }];
  const drawn = { values, scale, colours: scaleColours(theme, false), others, other: new Uint8Array(values.length) };
  return onScale(theme, drawn, 'Size of the outputs', '');
}

interface Drawn {
  /** Of all entities, NaN if there is none. */
  readonly values: Float64Array;
  readonly scale: ValueScale;
  readonly colours: readonly string[];
  /** Kind of an entity without a value: one of `others`. The legend lists the first one, and those that occur. */
  readonly other: Uint8Array;
  readonly others: readonly Other[];
}

function onScale(theme: Theme, { values, scale, colours, other, others }: Drawn, title: string, reach: string): Colours {
  const styles = [theme.node, ...others.map(({ style }) => style), ...colours.map((colour) => scaleStyle(colour, theme))];
  const index = new Uint8Array(values.length);
  const named = new Set([others[0]!.label]);
  for (let entity = 0; entity < values.length; entity++) {
    const value = values[entity]!;
    const kind = other[entity]!;
    if (Number.isNaN(value)) named.add(others[kind]!.label);
    index[entity] = Number.isNaN(value) ? 1 + kind : 1 + others.length + Math.round(scale.place(value) * (SCALE_STEPS - 1));
  }
  const inLegend = others.filter(({ label }, i) => named.has(label) && others.findIndex((same) => same.label === label) === i);
  return { index, styles, legend: { kind: 'scale', title, colours, ticks: scale.ticks, reach, others: inLegend } };
}

const CATEGORY_COLUMNS: Record<
  Exclude<ColourKind, 'health' | 'statistic' | 'size' | 'difference' | 'changed'>,
  { title: string; of: (graph: GraphData) => DictColumn; none: string }
> = {
  op: { title: 'Op type', of: (graph) => graph.opTypes, none: 'unknown' },
  dtype: { title: 'dtype', of: (graph) => graph.dtypes, none: 'no output' },
  layer: { title: 'Layer', of: (graph) => graph.layers, none: 'no layer' },
  device: { title: 'Device', of: (graph) => graph.devices, none: 'no device' },
};

function byCategory({ graph, tree, theme }: ColouringInput, kind: keyof typeof CATEGORY_COLUMNS): Colours {
  const { title, of, none } = CATEGORY_COLUMNS[kind];
  const column = of(graph);
  const counts = new Array<number>(column.values.length).fill(0);
  for (const code of column.codes) counts[code]!++;
  const named = counts.map((_, code) => code).filter((code) => column.values[code] !== '');
  named.sort((a, b) => counts[b]! - counts[a]! || a - b);
  // If there are too many kinds, the rarest share the last colour.
  const shown = named.slice(0, named.length > CATEGORY_COUNT ? CATEGORY_COUNT - 1 : CATEGORY_COUNT);
  const styles: BoxStyle[] = [theme.node, ...shown.map((_, i) => categoryStyle(theme, i)), theme.small];
  const other = styles.length - 1;
  const styleOf = counts.map((_, code) => (column.values[code] === '' ? other : shown.includes(code) ? 1 + shown.indexOf(code) : other));
  const items: LegendItem[] = shown.map((code, i) => ({ label: column.values[code]!, style: styles[1 + i]!, count: counts[code]! }));
  const rest = counts.reduce((sum, count, code) => sum + (styleOf[code] === other ? count : 0), 0);
  if (rest > 0)
    items.push({ label: named.length > shown.length ? `${named.length - shown.length} others` : none, style: theme.small, count: rest });
  const index = new Uint8Array(tree.nodeCount + tree.scopeCount);
  for (let row = 0; row < tree.nodeCount; row++) index[tree.entityOf[row]!] = styleOf[column.codes[row]!] ?? other;
  colourUniformScopes(tree, index);
  return { index, styles, legend: { kind: 'items', title, items } };
}

/** A scope has a category only if all its content does. */
function colourUniformScopes(tree: ScopeTree, index: Uint8Array): void {
  const MIXED = 255;
  const seen = new Uint8Array(index.length);
  for (let row = 0; row < tree.nodeCount; row++) seen[tree.entityOf[row]!] = index[tree.entityOf[row]!]!;
  forEachUpwards(tree, (child, scope) => {
    if (seen[scope] === 0) seen[scope] = seen[child]!;
    else if (seen[scope] !== seen[child]) seen[scope] = MIXED;
  });
  for (let entity = tree.nodeCount; entity < index.length; entity++) index[entity] = seen[entity] === MIXED ? 0 : seen[entity]!;
}
