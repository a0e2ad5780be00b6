/** Colours of cards: by health, by a measure at the current step, by size or class; with a legend. */

import type { CardStatistics } from '../model/layers/card_statistics';
import { CARD_COLOUR_TITLES, type CardColour, NONFINITE } from '../model/layers/card_statistics';
import type { Item } from '../model/layers/folding';
import { type NodeStatistic, rangeOf, type ValueScale, valueScale } from '../model/wire/value_scale';
import type { Legend, LegendItem } from './colouring';
import { CATEGORY_COUNT, categoryStyle, SCALE_STEPS, scaleColours, scaleStyle, shareColours } from './palettes';
import type { BoxStyle, Theme } from './theme';

export interface CardColouring {
  readonly styleOf: (item: Item, statistics: CardStatistics | null) => BoxStyle;
  readonly legend: Legend;
}

type Measured = readonly { readonly item: Item; readonly statistics: CardStatistics | null }[];

/** Scale of each measure: that of a similar node statistic. */
const LIKE: Readonly<Record<Exclude<CardColour, 'health' | 'class'>, NodeStatistic>> = {
  gradientNorm: 'l2',
  updateRatio: 'l2',
  zeroShare: 'zero_share',
  std: 'std',
  absMax: 'abs_max',
  mean: 'mean',
  parameters: 'l2',
};

export function cardColouring(theme: Theme, colour: CardColour, shown: Measured): CardColouring {
  if (colour === 'health') return byHealth(theme, shown);
  if (colour === 'class') return byClass(theme, shown);
  const value = (item: Item, statistics: CardStatistics | null): number => {
    if (colour === 'parameters') return item.parameters || Number.NaN;
    return statistics?.[colour] ?? Number.NaN;
  };
  const values = Float64Array.from(shown, ({ item, statistics }) => value(item, statistics));
  const scale = valueScale(LIKE[colour], rangeOf(LIKE[colour], values));
  const colours = colour === 'zeroShare' ? shareColours(theme) : scaleColours(theme, scale.diverging);
  const styles = colours.map((one) => scaleStyle(one, theme));
  const missing = colour === 'parameters' ? 'no parameters' : 'not captured';
  return {
    styleOf: (item, statistics) => {
      const own = value(item, statistics);
      return own === NONFINITE ? theme.nan : (onScale(own, scale, styles) ?? plain(theme, item));
    },
    legend: {
      kind: 'scale',
      title: CARD_COLOUR_TITLES[colour],
      colours,
      ticks: scale.ticks,
      reach: colour === 'parameters' ? '' : 'scale of this step',
      others: [
        { label: missing, style: theme.node },
        ...(values.includes(NONFINITE) ? [{ label: 'NaN/Inf', style: theme.nan, marker: 'nan' as const }] : []),
      ],
    },
  };
}

function onScale(value: number, scale: ValueScale, styles: readonly BoxStyle[]): BoxStyle | undefined {
  return Number.isNaN(value) ? undefined : styles[Math.round(scale.place(value) * (SCALE_STEPS - 1))];
}

/** A card without a colour. */
export function plain(theme: Theme, { kind }: Item): BoxStyle {
  return kind === 'op' ? theme.small : kind === 'block' ? theme.closed : kind === 'input' ? theme.hollow : theme.node;
}

function healthStyle(theme: Theme, item: Item, statistics: CardStatistics | null): BoxStyle {
  if (statistics && statistics.nan > 0) return theme.nan;
  return statistics && statistics.inf > 0 ? theme.inf : plain(theme, item);
}

/** Whether anything of a card was captured at the step. */
const isCaptured = ({ nan, inf, mean, gradientNorm, updateRatio }: CardStatistics): boolean =>
  nan + inf > 0 || [mean, gradientNorm, updateRatio].some(Number.isFinite);

function byHealth(theme: Theme, shown: Measured): CardColouring {
  const count = (wanted: (statistics: CardStatistics) => boolean): number =>
    shown.filter(({ statistics }) => statistics !== null && wanted(statistics)).length;
  const items: LegendItem[] = [
    { label: 'NaN', style: theme.nan, marker: 'nan', count: count(({ nan }) => nan > 0) },
    { label: 'Inf', style: theme.inf, marker: 'inf', count: count(({ nan, inf }) => nan === 0 && inf > 0) },
    { label: 'finite', style: theme.node, count: count((statistics) => isCaptured(statistics) && statistics.nan + statistics.inf === 0) },
    { label: 'not captured', style: theme.node, count: count((statistics) => !isCaptured(statistics)) },
  ];
  return { styleOf: (item, statistics) => healthStyle(theme, item, statistics), legend: { kind: 'items', title: 'Health', items } };
}

function byClass(theme: Theme, shown: Measured): CardColouring {
  const counts = new Map<string, number>();
  for (const { item } of shown) if (item.kind === 'layer') counts.set(item.className, (counts.get(item.className) ?? 0) + 1);
  const ranked = [...counts].sort((a, b) => b[1] - a[1]).slice(0, CATEGORY_COUNT);
  const styles = new Map(ranked.map(([name], i) => [name, categoryStyle(theme, i)]));
  const items = ranked.map(([label, count]): LegendItem => ({ label, count, style: styles.get(label)! }));
  return {
    styleOf: (item) => (item.kind === 'layer' ? styles.get(item.className) : undefined) ?? plain(theme, item),
    legend: { kind: 'items', title: CARD_COLOUR_TITLES.class, items },
  };
}
