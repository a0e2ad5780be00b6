import type { GraphView } from './graph_view';

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
        const { scope, label } = parts(drawing.graph.names.at(row));
        return (
          <li key={row}>
            <button
              type="button"
              class="graph-result"
              data-testid="search-result"
              aria-current={first + i === current}
              onClick={() => onChoose(first + i)}
            >
              <span>{label}</span>
              <span class="graph-result-type">{drawing.graph.opTypes.at(row)}</span>
              {scope && (
                <span class="graph-result-scope">
                  <bdi>{scope}</bdi>
                </span>
              )}
            </button>
          </li>
        );
      })}
      {rest > 0 && <li class="graph-more">{rest.toLocaleString('en-US')} more</li>}
    </ul>
  );
}

function parts(name: string): { scope: string; label: string } {
  const slash = name.lastIndexOf('/');
  return { scope: name.slice(0, Math.max(0, slash)), label: name.slice(slash + 1) };
}
