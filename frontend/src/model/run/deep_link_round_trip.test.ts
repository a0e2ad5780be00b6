/** Whatever the view, its address leads back to it: links made up at random, of names that hold all that an address is made of. */

import { expect, test } from 'vitest';
import { isBetween, TRACE_KINDS } from '../graph/trace';
import { CARD_COLOURS } from '../layers/card_statistics';
import { PARTS } from '../layers/parts';
import { VALUE_MODES } from '../value/dims';
import { type DeepLink, decodeLink, EMPTY_LINK, encodeLink, PANEL_TABS, VIEWS } from './deep_link';
import { CHART_CHOICES, type ChartChoices } from './view_settings';

type Random = () => number;

/** Numbers that are the same in each run (mulberry32). */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const LETTERS = [...'#&=,%+ /:;?!"\'<>()[]{}|\\^`~@$*._-0aZé…\u202e\n\t\u0000', '😀', '%2C', '%00', '..', '__proto__'];

const one = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
const whole = (random: Random): number => Math.floor(random() * 10 ** Math.ceil(random() * 15));
const text = (random: Random): string => Array.from({ length: 1 + Math.floor(random() * 12) }, () => one(random, LETTERS)).join('');
const texts = (random: Random): string[] => Array.from({ length: Math.floor(random() * 4) }, () => text(random));
const maybe = <T>(random: Random, value: T): T | null => (random() < 0.5 ? value : null);

function traceOf(random: Random): DeepLink['trace'] {
  const kind = one(random, TRACE_KINDS);
  return { kind, from: text(random), to: isBetween(kind) ? text(random) : '' };
}

function chartsOf(random: Random): ChartChoices {
  return Object.fromEntries(
    Object.entries(CHART_CHOICES).map(([name, all]) => [name, maybe(random, one<string>(random, all))]),
  ) as ChartChoices;
}

function anyLink(random: Random): DeepLink {
  const first = whole(random);
  const named = () => maybe(random, text(random));
  const numbered = () => maybe(random, whole(random));
  return {
    ...{
      run: named(),
      graph: named(),
      worker: named(),
      tensor: named(),
      selected: named(),
      layer: named(),
      other: named(),
      otherWorker: named(),
    },
    ...{ step: numbered(), visit: maybe(random, whole(random) % 2 ** 31), otherStep: numbered() },
    ...{ follow: random() < 0.5, enlarged: random() < 0.5 },
    ...{ view: one(random, VIEWS), panel: one(random, PANEL_TABS), value: maybe(random, one(random, VALUE_MODES)) },
    ...{ scope: text(random), match: text(random), where: text(random), place: text(random), saw: text(random) },
    ...{ sort: text(random), rank: text(random), color: text(random) },
    ...{
      at: one(random, ['first', 'step'] as const),
      of: one(random, ['files', 'ids'] as const),
      rows: one(random, ['step', 'all'] as const),
      list: one(random, ['table', 'histograms'] as const),
    },
    shade: one(random, CARD_COLOURS),
    part: maybe(random, one(random, PARTS)),
    dims: maybe(
      random,
      one(random, [
        ['y', 'x'],
        [3, 'n', 'y', 'x'],
        ['y', 0, 'x', 'c'],
      ] as const),
    ) as DeepLink['dims'],
    range: maybe(random, { first, last: first + Math.floor(random() * 9) }),
    ...{ open: maybe(random, texts(random)), pins: texts(random) },
    ...{ unstacked: texts(random), unfolded: texts(random), folded: texts(random) },
    trace: maybe(random, traceOf(random)),
    ...chartsOf(random),
  };
}

test('a thousand links survive the round trip, as the browser writes them', () => {
  for (let seed = 0; seed < 1000; seed++) {
    const link = anyLink(seeded(seed));
    const address = new URL(`http://here/${encodeLink(link)}`);
    expect(decodeLink(address.hash), `seed ${seed}: ${address.hash}`).toEqual(link);
    expect(address.search).toBe('');
  }
});

test('that all scopes are closed is a choice, and not what the graph opens by itself', () => {
  expect(decodeLink(encodeLink({ ...EMPTY_LINK, open: [] })).open).toEqual([]);
  expect(decodeLink(encodeLink(EMPTY_LINK)).open).toBeNull();
});
