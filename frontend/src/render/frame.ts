/** All that the drawing steps of one frame share. */

import type { PlacedGraph } from '../layout/placed';
import type { MetaEdges } from '../model/graph/meta_edges';
import type { ScopeTree } from '../model/graph/tree';
import type { GraphData } from '../model/wire/graph';
import type { Colouring } from './colouring';
import type { MovedTitle } from './draw_titles';
import type { ShownTrends } from './draw_trends';
import type { Motion } from './motion';
import type { Pen } from './pen';
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

export interface Frame {
  readonly context: Pen;
  readonly drawing: Drawing;
  readonly scene: Scene;
  readonly motion: Motion;
  readonly colouring: Colouring;
  readonly theme: Theme;
  readonly fitter: TextFitter;
  readonly showControl: boolean;
  /** What is on show of the bookmarked entities. */
  readonly bookmarks: ReadonlySet<number>;
  /** Height of what lies over the view's upper edge, in pixels of the page. */
  readonly covered: number;
  /** Takes the titles that are drawn elsewhere than their scopes have them: there they can be clicked. */
  readonly moved?: MovedTitle[];
  /** What the lines in nodes show; null for none. */
  readonly trends?: ShownTrends | null;
}
