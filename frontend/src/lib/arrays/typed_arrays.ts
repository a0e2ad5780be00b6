/** Arrays of numbers for inner loops, and adjacency lists (CSR) in them. */

/** Arrays of numbers for inner loops. Short ones are plain arrays, which are cheaper to create; layouts create many. */
export type Numbers = number[] | Int32Array | Float64Array;

const SHORT = 64;

export function integers(length: number, value = 0): number[] | Int32Array {
  return length < SHORT ? new Array<number>(length).fill(value) : filled(new Int32Array(length), value);
}

export function floats(length: number, value = 0): number[] | Float64Array {
  return length < SHORT ? new Array<number>(length).fill(value) : filled(new Float64Array(length), value);
}

function filled<T extends Int32Array | Float64Array>(array: T, value: number): T {
  if (value !== 0) array.fill(value);
  return array;
}

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

/** The positions of non-zero elements, ascending. */
export function placesOf(set: Uint8Array): Int32Array {
  let count = 0;
  for (let at = 0; at < set.length; at++) if (set[at]) count++;
  const places = new Int32Array(count);
  for (let at = 0, i = 0; i < count; at++) if (set[at]) places[i++] = at;
  return places;
}

/** Neighbours of each vertex, flat: those of `v` are `list[start[v] … start[v + 1]]`; `edge` is the connecting edge. */
export interface Adjacency {
  readonly start: Numbers;
  readonly list: Numbers;
  readonly edge: Numbers;
}

export function adjacency(count: number, from: Numbers, to: Numbers): Adjacency {
  const start = integers(count + 1);
  for (let e = 0; e < from.length; e++) start[from[e]! + 1]!++;
  for (let v = 0; v < count; v++) start[v + 1]! += start[v]!;
  const fill = start.slice();
  const list = integers(from.length);
  const edge = integers(from.length);
  for (let e = 0; e < from.length; e++) {
    const at = fill[from[e]!]!++;
    list[at] = to[e]!;
    edge[at] = e;
  }
  return { start, list, edge };
}
