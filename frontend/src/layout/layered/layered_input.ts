/** What the layered layout is asked for and what it answers. It knows boxes and edges, nothing of graphs or scopes. */

import type { Numbers } from '../../lib/arrays/typed_arrays';

export interface LayeredInput {
  /** Number of boxes. */
  readonly count: number;
  readonly width: Numbers;
  readonly height: Numbers;
  /** Sizes with all scopes closed: what must not change when one is opened is decided by them. */
  readonly restWidth: Numbers;
  readonly restHeight: Numbers;
  /** Where edges enter at the top and leave at the bottom, from the box's centre. */
  readonly inOffset: Numbers;
  readonly outOffset: Numbers;
  /** Edges end this far inside the box's top and bottom. */
  readonly inset: Numbers;
  /** 1 where all edges enter at one point instead of side by side. */
  readonly plug: Numbers;
  readonly source: Numbers;
  readonly target: Numbers;
  /** How much an edge counts where edges have to be turned to break cycles; more than 0. */
  readonly weight: Numbers;
  readonly folding: Folding;
}

/** When a tall layout is folded into columns side by side: from which height and steepness on, and into which height by width. */
export interface Folding {
  readonly tall: number;
  readonly steep: number;
  /** With scopes opened the cut stays as it is up to this steepness: what one looks at stays put. */
  readonly steepest: number;
  readonly proportion: number;
}

export const FOLDING: Folding = { tall: 1500, steep: 3.2, steepest: 8, proportion: 0.7 };

/** Boxes by their centres, in a frame whose top left corner is 0, 0; one polyline (x, y, x, y, …) an edge. */
export interface Placement {
  readonly width: number;
  readonly height: number;
  readonly x: Numbers;
  readonly y: Numbers;
  readonly routes: readonly (readonly number[])[];
}

export const GAP_X = 18;
export const GAP_Y = 26;
