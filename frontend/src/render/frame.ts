/** State shared by the drawing steps of one frame, and the canvas interface that they use. */

import type { PlacedGraph } from '../layout/placed';
import type { MetaEdges } from '../model/graph/meta_edges';
import type { ScopeTree } from '../model/graph/tree';
import type { GraphData } from '../model/wire/graph';
import type { NodeTrends } from '../model/wire/node_trends';
import type { Colouring } from './colouring';
import type { Motion } from './motion';
import type { Scene } from './scene';
import type { TextFitter } from './text';
import type { Theme } from './theme';

/** A graph with its layout. */
export interface Drawing {
  readonly graph: GraphData;
  readonly tree: ScopeTree;
  readonly meta: MetaEdges;
  readonly placed: PlacedGraph;
  /** 1 for nodes that are drawn small. */
  readonly small: Uint8Array;
}

/** A rectangle in screen pixels. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly right: number;
  readonly bottom: number;
}

/** A title outside its scope's title bar, in screen pixels; its sign, which collapses the scope, ends at `signRight`. */
export interface MovedTitle extends Area {
  readonly entity: number;
  readonly signRight: number;
}

/** Lines in nodes: trends of a statistic. */
export interface ShownTrends extends NodeTrends {
  /** The statistic at the current step, by entity; NaN if there is none. */
  readonly now: Float64Array;
}

export interface Frame {
  readonly context: DrawingContext;
  readonly drawing: Drawing;
  readonly scene: Scene;
  readonly motion: Motion;
  readonly colouring: Colouring;
  readonly theme: Theme;
  readonly fitter: TextFitter;
  readonly showControl: boolean;
  /** The visible bookmarked entities. */
  readonly bookmarks: ReadonlySet<number>;
  /** Height of the overlay at the view's upper edge, in page pixels. */
  readonly covered: number;
  /** Receives the titles drawn outside their title bars, for clicks. */
  readonly moved?: MovedTitle[];
  /** Trends in nodes; null for none. */
  readonly trends?: ShownTrends | null;
}

/** The part of a 2D canvas that drawing a graph needs: a canvas, or an SVG file (svg_context.ts). */
export type DrawingContext = Pick<
  CanvasRenderingContext2D,
  | 'fillStyle'
  | 'strokeStyle'
  | 'lineWidth'
  | 'lineJoin'
  | 'globalAlpha'
  | 'font'
  | 'textAlign'
  | 'textBaseline'
  | 'setLineDash'
  | 'beginPath'
  | 'closePath'
  | 'moveTo'
  | 'lineTo'
  | 'bezierCurveTo'
  | 'arcTo'
  | 'arc'
  | 'rect'
  | 'roundRect'
  | 'fill'
  | 'stroke'
  | 'fillRect'
  | 'clearRect'
  | 'fillText'
  | 'strokeText'
>;
