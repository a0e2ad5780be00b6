/** What the drawing steps of one frame share, and the part of a canvas that they draw with. */

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

/** A title that is not where its scope's title bar has it, in screen pixels; its sign, which closes the scope, reaches to `signRight`. */
export interface MovedTitle extends Area {
  readonly entity: number;
  readonly signRight: number;
}

/** Lines in nodes: how a statistic moved over the steps. */
export interface ShownTrends extends NodeTrends {
  /** The statistic at the current step, by entity; NaN where there is none. */
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
  /** What is visible of the bookmarked entities. */
  readonly bookmarks: ReadonlySet<number>;
  /** Height of what lies over the view's upper edge, in pixels of the page. */
  readonly covered: number;
  /** Takes the titles that are drawn elsewhere than their scopes have them: there they can be clicked. */
  readonly moved?: MovedTitle[];
  /** What the lines in nodes show; null for none. */
  readonly trends?: ShownTrends | null;
}

/** The part of a 2D canvas that graphs are drawn with. What has it can be drawn on: a canvas, or an SVG file (svg_context.ts). */
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
