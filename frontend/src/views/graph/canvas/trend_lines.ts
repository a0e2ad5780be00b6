/** Trends in visible nodes: which nodes have room, and their data. */

import { valuesByEntity } from '../../../model/graph/node_values';
import type { ScopeTree } from '../../../model/graph/tree';
import type { GraphData } from '../../../model/wire/graph';
import type { NodeTrends } from '../../../model/wire/node_trends';
import type { StepStatistics } from '../../../model/wire/step_statistics';
import { nodesWithRoom } from '../../../render/draw/draw_trends';
import type { Frame, ShownTrends } from '../../../render/frame';

/** The view must be still for this long before trends are requested. */
const PAUSE_MS = 120;

export class TrendLines {
  shown: ShownTrends | null = null;
  private reported = '';
  private reportedOf: GraphData | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Called with the rows of visible nodes, once the view is still. */
  constructor(private readonly report: (graph: GraphData, rows: readonly number[]) => void) {}

  set(trends: NodeTrends | null, tree: ScopeTree | null, overlay: StepStatistics | null): void {
    const drawn = trends !== null && tree !== null && trends.ofNode.size > 0;
    this.shown = trends && { ...trends, now: drawn ? valuesByEntity(tree, overlay, trends.statistic) : new Float64Array() };
  }

  /** Must be called with each painted frame. */
  watch(frame: Frame): void {
    const rows = frame.trends ? nodesWithRoom(frame) : [];
    const [text, { graph }] = [rows.join(), frame.drawing];
    clearTimeout(this.timer);
    if (text === this.reported && graph === this.reportedOf) return;
    this.timer = setTimeout(() => {
      this.reported = text;
      this.reportedOf = graph;
      this.report(graph, rows);
    }, PAUSE_MS);
  }

  close(): void {
    clearTimeout(this.timer);
  }
}
