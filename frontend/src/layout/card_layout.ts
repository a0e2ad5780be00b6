/** Coordinates of the layer view: cards in data flow order, expanded layers as frames, edges that continue through frames. */

import type { Item, Level } from '../model/layers/folding';
import { FOLDING, type Folding } from './layered/layered_input';
import { arrange, type CellPorts } from './scope/components';

export interface PlacedCard {
  readonly item: Item;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Frames around it. */
  readonly depth: number;
}

export interface CardPicture {
  readonly width: number;
  readonly height: number;
  readonly cards: readonly PlacedCard[];
  /** Outermost first. */
  readonly frames: readonly PlacedCard[];
  readonly edges: readonly PlacedEdge[];
}

export interface PlacedEdge {
  /** Keys of the connected items; empty at the border of a frame. */
  readonly from: string;
  readonly to: string;
  /** x, y, x, y, … */
  readonly route: readonly number[];
}

export interface CardSize {
  readonly width: number;
  readonly height: number;
}

export const FRAME_TITLE = 26;
const PADDING = 16;
const PORT = 2;

/** Places all items; `sizeOf` returns the drawn size of a card, `folding` says how long chains are cut into columns. */
export function placeCards(level: Level, sizeOf: (item: Item) => CardSize, folding = FOLDING): CardPicture {
  const out: Parts = { cards: [], frames: [], edges: [] };
  const placed = placeLevel(level, sizeOf, false, folding);
  placed.emit(out, 0, 0, 0);
  return { width: placed.width, height: placed.height, ...out };
}

interface Parts {
  readonly cards: PlacedCard[];
  readonly frames: PlacedCard[];
  readonly edges: PlacedEdge[];
}

interface PlacedLevel {
  readonly width: number;
  readonly height: number;
  /** Where edges from outside enter and leave. */
  readonly inX: number;
  readonly outX: number;
  /** Writes all coordinates relative to the whole picture. */
  readonly emit: (out: Parts, left: number, top: number, depth: number) => void;
}

function placeLevel(level: Level, sizeOf: (item: Item) => CardSize, framed: boolean, folding: Folding): PlacedLevel {
  const { items } = level;
  const inside = items.map((item) => (item.inside ? placeLevel(item.inside, sizeOf, true, folding) : null));
  const sizes = items.map((item, i): CardSize => inside[i] ?? sizeOf(item));
  const [entries, exits] = framed ? [level.entries, level.exits] : [[], []];
  // Edges from outside enter at one point at the top, and leave at one at the bottom.
  const enter = entries.length > 0 ? sizes.push({ width: PORT, height: PORT }) - 1 : -1;
  const leave = exits.length > 0 ? sizes.push({ width: PORT, height: PORT }) - 1 : -1;
  const edges = [...level.edges, ...entries.map((to) => [enter, to] as const), ...exits.map((from) => [from, leave] as const)];
  const cells = sizes.map(({ width, height }, main) => ({
    main,
    members: [main],
    left: [0],
    top: [0],
    width,
    height,
    restWidth: width,
    restHeight: height,
  }));
  const offset = (pick: (placed: PlacedLevel) => number): number[] =>
    sizes.map(({ width }, i) => (inside[i] ? pick(inside[i]!) - width / 2 : 0));
  const ports: CellPorts = {
    inOffset: offset(({ inX }) => inX),
    outOffset: offset(({ outX }) => outX),
    inset: sizes.map(() => 0),
    plug: sizes.map((_, i) => (inside[i] || i >= items.length ? 1 : 0)),
  };
  const arrangement = arrange(
    cells,
    {
      source: edges.map(([from]) => from),
      target: edges.map(([, to]) => to),
      meta: edges.map((_, e) => e),
      control: edges.map(() => 0),
      weight: edges.map(() => 1),
    },
    edges.map(() => 0),
    ports,
    folding,
  );
  const { left, top, routes } = arrangement;
  const [shiftX, shiftY] = framed ? [PADDING, FRAME_TITLE + (enter >= 0 ? 0 : PADDING / 2)] : [0, 0];
  const width = arrangement.width + 2 * shiftX;
  const height = arrangement.height + shiftY + (framed ? (leave >= 0 ? 0 : PADDING) : 0);
  const portX = (port: number): number => (port >= 0 ? shiftX + left[port]! + PORT / 2 : width / 2);
  const nameOf = (i: number): string => items[i]?.key ?? '';
  return {
    width,
    height,
    inX: portX(enter),
    outX: portX(leave),
    emit: (out, x, y, depth) => {
      items.forEach((item, i) => {
        const card = { item, x: x + shiftX + left[i]!, y: y + shiftY + top[i]!, ...sized(sizes[i]!), depth };
        if (!inside[i]) {
          out.cards.push(card);
          return;
        }
        out.frames.push(card);
        inside[i]!.emit(out, card.x, card.y, depth + 1);
      });
      edges.forEach(([from, to], e) => {
        const route = routes[e]!.map((at, k) => at + (k % 2 ? y + shiftY : x + shiftX));
        if (route.length < 4) return;
        if (from === enter) route[1] = y; // on the frame's border
        if (to === leave) route[route.length - 1] = y + height;
        out.edges.push({ from: nameOf(from), to: nameOf(to), route });
      });
    },
  };
}

const sized = ({ width, height }: CardSize): CardSize => ({ width, height });
