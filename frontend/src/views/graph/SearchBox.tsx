import { useEffect, useState } from 'preact/hooks';
import { clearSearch, hitAt, nextHit, search } from './go';
import type { GraphView } from './graph_view';
import { GraphIcon } from './icons';
import { SearchResults } from './SearchResults';

/** Typing stops for this long before a search of a large graph starts. */
const PAUSE_MS = 60;

interface SearchBoxProps {
  model: GraphView;
  /** Gives the keyboard back to the graph. */
  onDone: () => void;
}

export function SearchBox({ model, onDone }: SearchBoxProps) {
  const { finder } = model;
  const [draft, setDraft] = useDraft(model);
  const [listed, setListed] = useState(false);
  const searched = finder.text.value;
  const clear = () => {
    setDraft('');
    clearSearch(model);
  };
  const leave = (event: FocusEvent & { currentTarget: HTMLElement }) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setListed(false);
  };
  const choose = (index: number) => {
    setListed(false);
    hitAt(model, index);
  };
  const [hits, error] = [finder.hits.value.length, finder.error.value];
  return (
    <search class={`graph-search graph-card ${searched ? 'graph-searching' : ''}`} onFocusIn={() => setListed(true)} onFocusOut={leave}>
      <GraphIcon name="search" />
      <input
        type="text"
        class="graph-search-input"
        data-testid="search"
        placeholder="Search nodes"
        title="Text, /regular expression/, op:MatMul, layer:dense, dtype:float32, shape:32x10, is:nan"
        aria-label="Search nodes"
        aria-invalid={error !== null}
        spellcheck={false}
        autocomplete="off"
        value={draft}
        onInput={(event) => {
          setDraft(event.currentTarget.value);
          setListed(true);
        }}
        onKeyDown={(event) => onSearchKey(event, model, clear, onDone)}
      />
      {searched && <Hits model={model} hits={hits} error={error} />}
      {searched && listed && hits > 0 && <SearchResults model={model} onChoose={choose} />}
    </search>
  );
}

/** What is typed; it is searched for once typing stops. */
function useDraft(model: GraphView): [string, (text: string) => void] {
  const [draft, setDraft] = useState('');
  const searched = model.finder.text.value;
  // Searched or cleared from outside (the palette, Esc on the graph, another graph): follow.
  useEffect(() => setDraft(searched), [searched]);
  useEffect(() => {
    // Enter may have searched meanwhile, and gone to a hit.
    const searchDraft = () => draft !== model.finder.text.value && search(model, draft);
    const timer = setTimeout(searchDraft, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [draft, model]);
  return [draft, setDraft];
}

/** Enter and the arrows go from hit to hit, Esc clears the search and leaves it. */
function onSearchKey(
  event: KeyboardEvent & { currentTarget: HTMLInputElement },
  model: GraphView,
  clear: () => void,
  onDone: () => void,
): void {
  event.stopPropagation();
  const text = event.currentTarget.value;
  const back = event.key === 'ArrowUp' || (event.key === 'Enter' && event.shiftKey);
  if (['Enter', 'ArrowDown', 'ArrowUp'].includes(event.key)) {
    if (text !== model.finder.text.value) search(model, text);
    nextHit(model, back ? -1 : 1);
  } else if (event.key === 'Escape') {
    clear();
    onDone();
  } else return;
  event.preventDefault();
}

function Hits({ model, hits, error }: { model: GraphView; hits: number; error: string | null }) {
  const at = model.finder.current.value;
  const total = hits.toLocaleString('en-US');
  const text = error ?? (hits === 0 ? 'no hits' : at < 0 ? total : `${(at + 1).toLocaleString('en-US')} of ${total}`);
  const steps = [
    { icon: 'up', label: 'Previous hit (Shift+Enter)', run: () => nextHit(model, -1) },
    { icon: 'down', label: 'Next hit (Enter)', run: () => nextHit(model, 1) },
    { icon: 'clear', label: 'Clear the search (Esc)', run: () => clearSearch(model) },
  ] as const;
  return (
    <>
      <span class={`graph-hits ${error ? 'graph-error' : ''}`} role="status" title={text}>
        {text}
      </span>
      {steps.map(({ icon, label, run }) => (
        <button
          key={icon}
          type="button"
          class="graph-button graph-small"
          aria-label={label}
          title={label}
          disabled={hits === 0 && icon !== 'clear'}
          onClick={run}
        >
          <GraphIcon name={icon} />
        </button>
      ))}
    </>
  );
}
