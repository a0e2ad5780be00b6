import type { GraphView } from './graph_view';
import { NodeRow } from './NodeRow';

/** A list that one can take in; it moves on with the current hit. */
const LISTED = 8;

interface SearchResultsProps {
  model: GraphView;
  onChoose: (index: number) => void;
}

/** The hits around the current one, below the search box. */
export function SearchResults({ model, onChoose }: SearchResultsProps) {
  const { drawing, finder } = model;
  if (!drawing) return null;
  const [hits, current] = [finder.hits.value, finder.current.value];
  const first = Math.max(0, Math.floor(current / LISTED) * LISTED);
  const rest = hits.length - first - LISTED;
  return (
    <ul class="graph-results graph-card" aria-label="Hits">
      {[...hits.subarray(first, first + LISTED)].map((row, i) => {
        const index = first + i;
        return (
          <li key={row}>
            <NodeRow graph={drawing.graph} row={row} current={index === current} testid="search-result" onChoose={() => onChoose(index)} />
          </li>
        );
      })}
      {rest > 0 && <li class="graph-more">{rest.toLocaleString('en-US')} more</li>}
    </ul>
  );
}
