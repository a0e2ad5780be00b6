import type { ColourBy, GraphData } from '../../model/graph';
import type { StepStatistics } from '../../model/steps';

export interface GraphPaneProps {
  readonly graph: GraphData | null;
  readonly overlay: StepStatistics | null;
  /** Name of the selected node. */
  readonly selected: string | null;
  readonly colour: ColourBy;
  readonly theme: 'light' | 'dark';
  readonly onSelect: (name: string | null) => void;
  readonly onHover?: (name: string | null) => void;
  /** Row numbers to mark, for example the nodes of a list beside the graph. */
  readonly highlighted?: ReadonlySet<number>;
  /** Scope paths to open when a graph is first shown (`*`: all); without it the pane opens what is informative. */
  readonly expandedScopes?: readonly string[];
  /** The opened scopes that have no opened scope in them (their ancestors are implied), or `['*']`; at most 200. */
  readonly onExpandedChange?: (scopes: readonly string[]) => void;
}

export function GraphPane(_props: GraphPaneProps) {
  return null;
}
