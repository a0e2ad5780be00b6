/** Input and result of the layered layout: boxes and edges, without graphs or scopes. */

import type { Numbers } from '../../lib/arrays/typed_arrays';

export interface LayeredInput {
  /** Number of boxes. */
  readonly count: number;
  readonly width: Numbers;
  readonly height: Numbers;
  /** Sizes with all scopes collapsed. They decide what must not change when a scope expands. */
  readonly restWidth: Numbers;
  readonly restHeight: Numbers;
  /** Where edges enter at the top and leave at the bottom, from the box's centre. */
  readonly inOffset: Numbers;
  readonly outOffset: Numbers;
  /** Edges end this far inside the top and bottom of a box. */
  readonly inset: Numbers;
  /** 1 if all edges enter at one point instead of side by side. */
  readonly plug: Numbers;
  readonly source: Numbers;
  readonly target: Numbers;
  /** Weight of an edge when cycles are broken; more than 0. */
  readonly weight: Numbers;
  readonly folding: Folding;
}

/** When to fold a tall layout into columns side by side (height, steepness), and the target proportion. */
export interface Folding {
  readonly tall: number;
  readonly steep: number;
  /** With expanded scopes, the cut stays up to this steepness, so that the view does not jump. */
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
