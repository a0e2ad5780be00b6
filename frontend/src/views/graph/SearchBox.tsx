import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { keyName } from '../../lib/keyboard';
import { SEARCH_FORMS } from '../../model/search/search_forms';
import { linesWanted } from '../../state/graph/source';
import { paletteOpen } from '../../state/page/ui';
import { runFacts } from '../../state/problems/problems';
import { moveFocus } from '../kit/Popover';
import type { GraphView } from './canvas/graph_view';
import { clearSearch, hitAt, nextHit } from './canvas/navigation';
import { NodeRow } from './NodeRow';
import { GraphIcon } from './ToolButton';

/** A search of a large graph starts when typing has paused for this long. */
const PAUSE_MS = 60;

interface SearchBoxProps {
  model: GraphView;
  /** Returns the focus to the graph. */
  onDone: () => void;
}

export function SearchBox({ model, onDone }: SearchBoxProps) {
  const { finder } = model;
  const draft = useDraft(model);
  const [listed, setListed] = useState(false);
  useNews(model);
  const searched = finder.text.value;
  const clear = () => {
    draft.type('');
    clearSearch(model);
  };
  const enter = () => {
    setListed(true);
    linesWanted.value = true; // the search may be for a source line
  };
  const leave = (event: FocusEvent & { currentTarget: HTMLElement }) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setListed(false);
  };
  const choose = (index: number) => {
    setListed(false);
    hitAt(model, index);
  };
  const hits = finder.hits.value.length;
  return (
    <search class={`graph-search graph-card ${searched ? 'graph-searching' : ''}`} onFocusIn={enter} onFocusOut={leave}>
      <GraphIcon name="search" />
      <input
        type="text"
        class="graph-search-input"
        data-testid="search"
        placeholder="Search nodes"
        aria-label="Search nodes"
        aria-invalid={finder.unread.value}
        spellcheck={false}
        autocomplete="off"
        value={draft.text}
        onInput={(event) => {
          draft.type(event.currentTarget.value);
          setListed(true);
        }}
        onKeyDown={(event) => onSearchKey(event, model, draft, () => [clear(), onDone()])}
      />
      {draft.text === '' && <PaletteHint />}
      {searched && <Hits model={model} />}
      {draft.text === '' && listed && <SearchSheet model={model} onChoose={(text) => takeExample(text, draft)} onDone={focusBox} />}
      {searched && listed && hits > 0 && <SearchResults model={model} onChoose={choose} />}
      {searched && listed && finder.message.value && <p class="graph-results graph-card graph-message">{finder.message.value}</p>}
    </search>
  );
}

interface Draft {
  readonly text: string;
  /** Text was typed: the search starts when typing pauses. */
  readonly type: (text: string) => void;
  /** Searches at once; false if more text was typed before the end. */
  readonly search: (text: string) => Promise<boolean>;
}

function useDraft(model: GraphView): Draft {
  const [text, setText] = useState('');
  const timer = useRef(0);
  const own = useRef('');
  const searched = model.finder.text.value;
  // Follows searches from outside (the palette, Esc on the graph, another graph). After its own search more text may already be typed.
  useEffect(() => {
    if (searched === own.current || own.current === model.finder.asked) return;
    clearTimeout(timer.current);
    own.current = searched;
    setText(searched);
  }, [searched]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const now = (wanted: string) => {
    clearTimeout(timer.current);
    own.current = wanted;
    return wanted === model.finder.asked ? model.finder.done : model.search(wanted);
  };
  const type = (wanted: string) => {
    setText(wanted);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => now(wanted), PAUSE_MS);
  };
  return { text, type, search: now };
}

/** Repeats the search when more is known: source lines, problems. */
function useNews(model: GraphView): void {
  const facts = runFacts.value;
  useEffect(() => model.searchAgain(/is:|problem:|source:|\.(py|ipynb)/i), [facts, model]);
}

const focusBox = () => document.querySelector<HTMLElement>('.graph-search-input')?.focus();

const focusExample = (box: HTMLElement) => box.closest('search')?.querySelector<HTMLElement>('.graph-example')?.focus();

function takeExample(text: string, draft: Draft): void {
  draft.type(text);
  focusBox();
}

const PALETTE_KEY = keyName('Ctrl+K');
const PALETTE_LABEL = `${PALETTE_KEY} opens the command palette: commands, nodes, lines, problems`;

/** A subtle link to the command palette, for users who do not know its key. */
function PaletteHint() {
  return (
    <button
      type="button"
      class="graph-hint"
      aria-label={PALETTE_LABEL}
      title={PALETTE_LABEL}
      tabIndex={-1} // Tab continues to the tools; keyboard users have the key itself
      data-testid="palette-hint"
      onClick={() => {
        paletteOpen.value = true;
      }}
    >
      <kbd>{PALETTE_KEY}</kbd>
    </button>
  );
}

/** Enter and the arrows move between hits, Esc clears the search and leaves it. */
function onSearchKey(event: KeyboardEvent & { currentTarget: HTMLInputElement }, model: GraphView, draft: Draft, leave: () => void): void {
  if (event.ctrlKey || event.metaKey) return; // keys of the page
  event.stopPropagation();
  const text = event.currentTarget.value;
  const back = event.key === 'ArrowUp' || (event.key === 'Enter' && event.shiftKey);
  if (text === '' && event.key === 'ArrowDown') focusExample(event.currentTarget);
  else if (['Enter', 'ArrowDown', 'ArrowUp'].includes(event.key)) {
    void draft.search(text).then((found) => found && nextHit(model, back ? -1 : 1));
  } else if (event.key === 'Escape') {
    leave();
  } else return;
  event.preventDefault();
}

function Hits({ model }: { model: GraphView }) {
  const { finder } = model;
  const [hits, at, message] = [finder.hits.value.length, finder.current.value, finder.message.value];
  const total = hits.toLocaleString('en-US');
  const count = hits === 0 ? 'no hits' : at < 0 ? total : `${(at + 1).toLocaleString('en-US')} of ${total}`;
  const text = finder.unread.value ? 'invalid' : finder.fuzzy.value ? `${count}, fuzzy` : count;
  const steps = [
    { icon: 'up', label: 'Previous hit (Shift+Enter)', run: () => nextHit(model, -1) },
    { icon: 'down', label: 'Next hit (Enter)', run: () => nextHit(model, 1) },
    { icon: 'clear', label: 'Clear the search (Esc)', run: () => clearSearch(model) },
  ] as const;
  return (
    <>
      <span class={`graph-hits ${finder.unread.value ? 'graph-error' : ''}`} role="status" title={message ?? undefined}>
        {text}
        {message && <span class="graph-offscreen">: {message}</span>}
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

/** A list of readable length; it scrolls with the current hit. */
const LISTED = 8;

interface SearchResultsProps {
  model: GraphView;
  onChoose: (index: number) => void;
}

/** The hits around the current one, below the search box. */
function SearchResults({ model, onChoose }: SearchResultsProps) {
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

interface SearchSheetProps {
  model: GraphView;
  onChoose: (text: string) => void;
  /** Returns the focus to the box. */
  onDone: () => void;
}

/**
 * Below the empty box: possible searches, with examples that have hits in this graph. A click selects one, arrow keys move between them.
 */
function SearchSheet({ model, onChoose, onDone }: SearchSheetProps) {
  const { drawing } = model;
  const list = useRef<HTMLUListElement>(null);
  const known = runFacts.value;
  const rows = useMemo(() => {
    if (!drawing) return [];
    const facts = model.facts();
    return SEARCH_FORMS.flatMap(({ form, does, example }) => {
      const text = example(drawing.graph, facts);
      return text === null ? [] : [{ form, does, text }];
    });
  }, [drawing, known, model]);
  const onKeyDown = (event: KeyboardEvent) => {
    const first = document.activeElement === list.current?.querySelector('button');
    if (event.key === 'Escape' || (event.key === 'ArrowUp' && first)) onDone();
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') moveFocus(list.current, event.key === 'ArrowDown' ? 1 : -1);
    else return;
    event.stopPropagation();
    event.preventDefault();
  };
  return (
    <ul ref={list} onKeyDown={onKeyDown} class="graph-results graph-card" aria-label="What to search for" data-testid="search-sheet">
      <li class="graph-more">Name (fuzzy: mtml → MatMul), or a filter:</li>
      {rows.map(({ form, does, text }) => (
        <li key={form}>
          <button type="button" tabIndex={-1} class="graph-result graph-example" onClick={() => onChoose(text)}>
            <code>{text}</code>
            <span class="graph-result-type">{does}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
