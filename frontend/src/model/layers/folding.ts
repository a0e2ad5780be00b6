/** Which cards are shown: containers expanded or collapsed, repeated blocks drawn once. */

import type { LayerCard, LayerGraph, TensorPlace } from './cards';
import { findRepeats, type Repeatable } from './repeats';

/** A card, a collapsed block of cards, or an expanded frame around cards. */
export interface Item {
  /** Unique key, stable across foldings: `gpt/block_0`. */
  readonly key: string;
  readonly kind: LayerCard['kind'] | 'block';
  readonly title: string;
  readonly path: string;
  readonly scope: string;
  readonly className: string;
  readonly shape: string;
  readonly parameters: number;
  /** Its cards; of a repeated item those of the first repetition. */
  readonly cards: readonly number[];
  /** Cards of each repetition; one if it is not repeated. */
  readonly variants: readonly (readonly number[])[];
  /** Titles of the repetitions. */
  readonly names: readonly string[];
  /** Number of this call of the layer, from 0, and number of its calls. */
  readonly call: number;
  readonly calls: number;
  readonly output: TensorPlace;
  /** Whether it can be expanded or collapsed, and the key for that. */
  readonly toggle: string;
  /** The content of an expanded frame; null for a card. */
  readonly inside: Level | null;
}

/** Items of one level, and the edges between them. */
export interface Level {
  readonly items: readonly Item[];
  readonly edges: readonly (readonly [number, number])[];
  /** Items that read from, or are read by, the outside. */
  readonly entries: readonly number[];
  readonly exits: readonly number[];
}

/** With more visible cards than this, blocks start collapsed. */
const MOST_OPEN = 30;
/** The only block of a level with this many items is expanded: one box between input and loss is useless. */
const FEW_ITEMS = 4;
const FEWEST_NAMED = 4;
const MOST_NAMED = 40;

/** Items that the user expanded or collapsed: `open` and `closed` hold keys, see `Item.toggle`. */
export interface Folds {
  readonly open: Pick<ReadonlySet<string>, 'has'>;
  readonly closed: Pick<ReadonlySet<string>, 'has'>;
}

/** Those of a user, who names each. */
export interface ChosenFolds extends Folds {
  readonly open: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
}

export const NO_FOLDS: ChosenFolds = { open: new Set(), closed: new Set() };

/** Turns a fold over: what is open is closed, and the other way round. */
export function toggleFold(folds: ChosenFolds, key: string, isOpen: boolean): ChosenFolds {
  const [open, closed] = [new Set(folds.open), new Set(folds.closed)];
  open.delete(key);
  closed.delete(key);
  (isOpen ? closed : open).add(key);
  return { open, closed };
}

export function foldedLevel(graph: LayerGraph, folds: Folds): Level {
  return new Folding(graph, folds).run();
}

const ALL_OPEN: Folds = { open: { has: () => true }, closed: new Set() };

/** The frames to expand so that the item with a key is visible, outermost first; null if the graph has no such item. */
export function framesAround(graph: LayerGraph, key: string): readonly string[] | null {
  const find = ({ items }: Level, around: readonly string[]): readonly string[] | null => {
    for (const item of items) {
      if (item.key === key) return around;
      const found = item.inside && find(item.inside, [...around, item.toggle]);
      if (found) return found;
    }
    return null;
  };
  return find(foldedLevel(graph, ALL_OPEN), []);
}

interface Container {
  readonly key: string;
  readonly path: string;
  readonly title: string;
  /** Which call of it, from 0. */
  readonly call: number;
  readonly calls: number;
}

/** A level before repeats are folded: each item with its parts. */
interface Raw {
  readonly container: Container | null;
  readonly cards: number[];
}

class Folding {
  private readonly chains: readonly (readonly Container[])[];
  private readonly startOpen: boolean;
  private readonly readers: number[][];

  constructor(
    private readonly graph: LayerGraph,
    private readonly folds: Folds,
  ) {
    const { cards } = graph;
    this.chains = containerChains(cards);
    this.startOpen = cards.length <= MOST_OPEN;
    this.readers = cards.map(() => []);
    for (const card of cards) for (const from of card.inputs.keys()) this.readers[from]!.push(card.id);
  }

  run(): Level {
    return this.level(
      this.graph.cards.map(({ id }) => id),
      0,
      [],
    );
  }

  private isOpen(key: string, sole: boolean): boolean {
    if (this.folds.open.has(key)) return true;
    return !this.folds.closed.has(key) && (this.startOpen || sole);
  }

  /** Cards below one container, or all. `alike`: the same cards in further repetitions of their container. */
  private level(cards: readonly number[], depth: number, alike: readonly (readonly number[])[]): Level {
    const raw = this.group(cards, depth);
    const itemOf = new Map<number, number>();
    raw.forEach(({ cards: inside }, i) => {
      for (const card of inside) itemOf.set(card, i);
    });
    const others = alike.map((variant) => this.group(variant, depth)).filter((level) => level.length === raw.length);
    return this.fold(raw, itemOf, depth, others);
  }

  private group(cards: readonly number[], depth: number): Raw[] {
    const [raw, byKey]: [Raw[], Map<string, Raw>] = [[], new Map()];
    for (const card of cards) {
      const container = this.chains[card]![depth] ?? null;
      const known = container && byKey.get(container.key);
      if (known) {
        known.cards.push(card);
        continue;
      }
      const made = { container, cards: [card] };
      raw.push(made);
      if (container) byKey.set(container.key, made);
    }
    return raw;
  }

  private fold(raw: readonly Raw[], itemOf: ReadonlyMap<number, number>, depth: number, others: readonly (readonly Raw[])[]): Level {
    const inputsOf = raw.map(({ cards }, at) => {
      const found = new Set<number>();
      for (const card of cards) {
        for (const from of this.graph.cards[card]!.inputs.keys()) {
          const source = itemOf.get(from);
          if (source !== undefined && source !== at) found.add(source);
        }
      }
      return [...found];
    });
    const repeats = findRepeats(raw.map((item, at) => this.repeatable(item, inputsOf[at]!)));
    /** For each raw item: the item that draws it, its repetition, and its repeat. */
    const shownAs = new Int32Array(raw.length).fill(-1);
    const repetition = new Int32Array(raw.length);
    const repeatOf = new Int32Array(raw.length).fill(-1);
    const items: Item[] = [];
    const blocks = raw.filter(({ container }) => container !== null);
    const sole = blocks.length === 1 && raw.length <= FEW_ITEMS;
    const firsts = new Map(repeats.map((repeat, number) => [repeat.start, { ...repeat, number }]));
    for (let at = 0; at < raw.length; ) {
      const repeat = firsts.get(at);
      const toggle = repeat ? `${this.keyOf(raw[at]!)} × ${repeat.count}` : '';
      const [length, count] = repeat && !this.folds.open.has(toggle) ? [repeat.length, repeat.count] : [1, 1];
      for (let offset = 0; offset < length; offset++) {
        const variants = Array.from({ length: count }, (_, k) => raw[at + k * length + offset]!);
        const more = others.map((level) => level[at + offset]!);
        items.push(this.item([...variants, ...more], depth, count > 1 ? toggle : '', sole));
        for (let k = 0; k < count; k++) {
          const from = at + k * length + offset;
          shownAs[from] = items.length - 1;
          repetition[from] = k;
          repeatOf[from] = count > 1 ? repeat!.number : -1;
        }
      }
      at += length * count;
    }
    return this.join(raw, items, itemOf, inputsOf, { shownAs, repetition, repeatOf });
  }

  private join(
    raw: readonly Raw[],
    items: readonly Item[],
    itemOf: ReadonlyMap<number, number>,
    inputsOf: readonly (readonly number[])[],
    { shownAs, repetition, repeatOf }: { shownAs: Int32Array; repetition: Int32Array; repeatOf: Int32Array },
  ): Level {
    const edges = new Map<string, readonly [number, number]>();
    const [entries, exits] = [new Set<number>(), new Set<number>()];
    raw.forEach(({ cards }, at) => {
      const mine = shownAs[at]!;
      for (const source of inputsOf[at]!) {
        // Edges between or inside later repetitions are redundant.
        const same = repeatOf[source]! >= 0 && repeatOf[source] === repeatOf[at];
        if (same && (repetition[source] !== repetition[at] || repetition[at]! > 0)) continue;
        if (shownAs[source] !== mine) edges.set(`${shownAs[source]} ${mine}`, [shownAs[source]!, mine]);
      }
      for (const card of cards) {
        if ([...this.graph.cards[card]!.inputs.keys()].some((from) => !itemOf.has(from))) entries.add(mine);
        if (this.readers[card]!.some((to) => !itemOf.has(to))) exits.add(mine);
      }
    });
    return { items, edges: [...edges.values()], entries: [...entries], exits: [...exits] };
  }

  private keyOf({ container, cards }: Raw): string {
    return container?.key ?? cardKey(this.graph.cards[cards[0]!]!);
  }

  private repeatable({ container, cards }: Raw, inputs: readonly number[]): Repeatable {
    const first = this.graph.cards[cards[0]!]!;
    if (!container)
      return {
        kind: first.kind,
        path: first.kind === 'op' ? '' : first.path,
        className: first.className,
        operations: `${first.operations} ${first.shape}`,
        inputs,
      };
    const classes = cards.map((card) => this.graph.cards[card]!).map(({ className, operations }) => `${className}(${operations})`);
    return {
      kind: 'block',
      path: container.path,
      className: String(cards.length),
      operations: `${classes.join()} ${cards.map((card) => this.graph.cards[card]!.shape).join()}`,
      inputs,
    };
  }

  private item(variants: readonly Raw[], depth: number, repeat: string, sole: boolean): Item {
    const [first] = variants as [Raw, ...Raw[]];
    const { cards } = this.graph;
    const key = this.keyOf(first);
    const names = variants.map((variant) => this.titleOf(variant));
    const common = { key, cards: first.cards, variants: variants.map((variant) => variant.cards), names };
    const parameters = (raw: Raw): number => sum(firstCalls(raw.cards.map((card) => cards[card]!)));
    if (!first.container) {
      const { kind, title, path, scope, className, shape, output, call, calls } = cards[first.cards[0]!]!;
      return {
        ...common,
        kind,
        title,
        call,
        calls,
        path,
        scope,
        className,
        shape,
        output,
        parameters: parameters(first),
        toggle: repeat,
        inside: null,
      };
    }
    const { path } = first.container;
    const inside = this.isOpen(key, sole)
      ? this.level(
          first.cards,
          depth + 1,
          variants.slice(1).map((variant) => variant.cards),
        )
      : null;
    const last = cards[this.lastOf(first.cards)]!;
    const layers = first.cards.map((card) => cards[card]!).filter(({ kind }) => kind === 'layer');
    const counted = `${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}`;
    const own = this.graph.classes.get(path) ?? '';
    return {
      ...common,
      kind: 'block',
      title: first.container.title,
      call: first.container.call,
      calls: first.container.calls,
      path,
      scope: key,
      className: path === '' ? `${counted} · ${largest(layers).className}` : PLAIN_CLASSES.has(own) ? counted : `${own} · ${counted}`,
      shape: last.shape,
      output: last.output,
      parameters: parameters(first),
      toggle: key,
      inside,
    };
  }

  private titleOf(raw: Raw): string {
    return raw.container?.title ?? this.graph.cards[raw.cards[0]!]!.title;
  }

  /** The card whose output leaves the block; not one that only a gradient penalty reads within it. */
  private lastOf(cards: readonly number[]): number {
    const inside = new Set(cards);
    const ends = cards.filter((card) => !this.readers[card]!.some((to) => inside.has(to)));
    return ends.findLast((card) => this.readers[card]!.length > 0) ?? ends[ends.length - 1] ?? cards[cards.length - 1]!;
  }
}

/** Container classes, which only say that there are layers inside. */
const PLAIN_CLASSES: ReadonlySet<string> = new Set(['', 'Functional', 'Sequential', 'Model']);

/** The weights of a layer that is called twice count once. */
function firstCalls(cards: readonly LayerCard[]): LayerCard[] {
  const seen = new Set<string>();
  return cards.filter(({ path, kind }) => kind === 'layer' && !seen.has(path) && seen.add(path) !== undefined);
}

/** The layer with the most parameters names a nameless block. */
const largest = (layers: readonly LayerCard[]): LayerCard => layers.reduce((a, b) => (b.parameters > a.parameters ? b : a));

const sum = (cards: readonly LayerCard[]): number => cards.reduce((total, { parameters }) => total + parameters, 0);

export function cardKey({ kind, scope, path, rows, output }: LayerCard): string {
  return kind === 'layer' ? scope || path : `${kind} ${rows[0]}:${output.slot}`;
}

/** The path around a path; empty for none. */
const outer = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The layers around each card, outermost first, without the common one. */
function containerChains(cards: readonly LayerCard[]): (readonly Container[])[] {
  const layers = cards.filter(({ kind }) => kind === 'layer');
  const roots = new Set(layers.map(({ path }) => path.slice(0, Math.max(0, path.indexOf('/'))) || path));
  const shared = roots.size === 1 && layers.some(({ path }) => path.includes('/'));
  const containers = new Set<string>();
  for (const { path } of layers) for (let at = outer(path); at !== '' && !containers.has(at); at = outer(at)) containers.add(at);
  const stems = namedBlocks(layers);
  /** The calls of each layer, by their keys. */
  const calls = new Map<string, Map<string, Container>>();
  const numbered = (key: string, path: string, title: string): Container => {
    const known = calls.get(path) ?? new Map<string, Container>();
    if (known.size === 0) calls.set(path, known);
    let made = known.get(key);
    if (!made) {
      made = {
        key,
        path,
        title,
        call: known.size,
        get calls() {
          return known.size;
        },
      };
      known.set(key, made);
    }
    return made;
  };
  const chainsOf = new Map<string, readonly Container[]>();
  /** A container and those around it; cards in one share it. */
  const chainOf = (scope: string, path: string): readonly Container[] => {
    if (path === '' || (shared && !path.includes('/'))) return [];
    const key = `${scope} ${path}`;
    const known = chainsOf.get(key);
    if (known) return known;
    const chain = [...chainOf(outer(scope), outer(path)), numbered(scope, path, path.slice(path.lastIndexOf('/') + 1))];
    chainsOf.set(key, chain);
    return chain;
  };
  const named = new Map<number, Container>();
  const chains = cards.map((card) => {
    const { id, kind, path, scope } = card;
    if (kind !== 'layer' && kind !== 'op') return [];
    const chain = kind === 'layer' ? [...chainOf(outer(scope), outer(path))] : containers.has(path) ? [...chainOf(scope, path)] : [];
    const stem = kind === 'layer' ? stems(path) : '';
    if (stem !== '') {
      const title = stem.slice(stem.lastIndexOf('/') + 1);
      named.set(id, numbered([outer(scope), title].filter(Boolean).join('/'), stem, title));
      chain.push(named.get(id)!);
    }
    return chain;
  });
  fillBlocks(cards, chains, named);
  if (cards.length > MOST_OPEN && chains.every((chain) => chain.length === 0)) closeSections(cards, chains);
  return chains;
}

/** A flat model without named blocks: a section that branches and joins again is a block. */
function closeSections(cards: readonly LayerCard[], chains: Container[][]): void {
  for (const section of sections(cards)) {
    const [first, last] = [section[0]!, section[section.length - 1]!];
    const title = `${first.title} … ${last.title}`;
    for (const { id } of section) chains[id]!.push({ key: `${cardKey(first)} …`, path: '', title, call: 0, calls: 1 });
  }
}

/** Cards between the layers of a named block, such as an activation without a name, belong to it. */
function fillBlocks(cards: readonly LayerCard[], chains: Container[][], named: ReadonlyMap<number, Container>): void {
  const members = new Map<string, number[]>();
  for (const [card, { key }] of named) members.set(key, [...(members.get(key) ?? []), card]);
  for (const block of members.values()) {
    const [first, last] = [block[0]!, block[block.length - 1]!];
    const depth = chains[first]!.length - 1;
    const around = chains[first]![depth - 1]?.key;
    const inside = new Set(block);
    const fits = (at: number): boolean => !named.has(at) && chains[at]!.length === depth && chains[at]![depth - 1]?.key === around;
    const [below, above] = [new Set(block), new Set(block)];
    for (let at = first; at <= last; at++) if (fits(at) && [...cards[at]!.inputs.keys()].some((from) => below.has(from))) below.add(at);
    for (let at = last; at >= first; at--) if (above.has(at)) for (const from of cards[at]!.inputs.keys()) if (fits(from)) above.add(from);
    for (let at = first; at <= last; at++) if (!inside.has(at) && below.has(at) && above.has(at)) chains[at]!.push(named.get(first)!);
  }
}

/** The number in `conv2d` is not a counter. */
const DIMENSIONS = /(?:conv|pooling|padding|cropping|sampling|dropout)[123]d$/;

/**
 * Blocks by names: layers `conv2_block1_conv`, `conv2_block1_relu`, … of a flat model, by their common stem. The first of `block_conv`,
 * `block_1_conv`, `block_2_conv` has no number.
 */
function namedBlocks(layers: readonly LayerCard[]): (path: string) => string {
  const known = new Map<string, { numbered: string[]; others: string[] }>();
  const stemsOf = (path: string): { numbered: string[]; others: string[] } => {
    const before = known.get(path);
    if (before) return before;
    const cut = path.lastIndexOf('/') + 1;
    const parts = path.slice(cut).split('_');
    const [numbered, others]: [string[], string[]] = [[], []];
    for (let k = 0; k < parts.length - 1; k++) {
      const stem = path.slice(0, cut) + parts.slice(0, k + 1).join('_');
      (/\d/.test(parts[k]!) && !DIMENSIONS.test(parts[k]!) ? numbered : others).push(stem);
    }
    known.set(path, { numbered, others });
    return { numbered, others };
  };
  const paths = [...new Set(layers.map((layer) => layer.path))];
  const count = (stems: readonly string[]): Map<string, number> => {
    const found = new Map<string, number>();
    for (const stem of stems) found.set(stem, (found.get(stem) ?? 0) + 1);
    return found;
  };
  const members = count(paths.flatMap((path) => stemsOf(path).numbered));
  const fits = (size: number | undefined): boolean => size !== undefined && size >= FEWEST_NAMED && size <= MOST_NAMED;
  const stemOf = (path: string): string | undefined => stemsOf(path).numbered.findLast((stem) => fits(members.get(stem)));
  const firsts = count(
    paths
      .filter((path) => stemOf(path) === undefined)
      .flatMap((path) => stemsOf(path).others.filter((stem) => fits(members.get(`${stem}_1`)))),
  );
  return (path) => stemOf(path) ?? stemsOf(path).others.findLast((stem) => fits(firsts.get(stem))) ?? '';
}

/** Size of a nameless block: fewer cards are read as quickly, more (or over a third of the model) hide too much. */
const FEWEST = 4;
const MOST = 40;

/** Sections of cards that branch and join again, like a residual block; only the last card of each has outputs. */
export function sections(cards: readonly LayerCard[]): LayerCard[][] {
  const flow = cards.filter(({ kind }) => kind === 'layer' || kind === 'op');
  const place = new Map(flow.map(({ id }, at) => [id, at]));
  const lastReader = new Int32Array(flow.length);
  flow.forEach((card, at) => {
    for (const from of card.inputs.keys()) {
      const source = place.get(from);
      if (source !== undefined) lastReader[source] = Math.max(lastReader[source]!, at);
    }
  });
  const most = Math.min(MOST, flow.length / 3);
  const found: LayerCard[][] = [];
  let begin = 0;
  let reach = 0; // the last reader of earlier cards
  flow.forEach((_, at) => {
    const alone = reach <= at;
    reach = Math.max(reach, lastReader[at]!);
    if (!alone) return;
    const length = at + 1 - begin;
    if (length >= FEWEST && length <= most) found.push(flow.slice(begin, at + 1));
    begin = at + 1;
  });
  return found;
}
