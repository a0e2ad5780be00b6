import { useMemo, useRef } from 'preact/hooks';
import { SEARCH_FORMS } from '../../model/search/search_forms';
import { runFacts } from '../../state/problems/problems';
import { moveFocus } from '../kit/Popover';
import type { GraphView } from './canvas/graph_view';

interface SearchSheetProps {
  model: GraphView;
  onChoose: (text: string) => void;
  /** Gives the keyboard back to the box. */
  onDone: () => void;
}

/** Below the empty box: what one can search for, with examples that this graph has hits for. A click takes one, the arrow keys go to them. */
export function SearchSheet({ model, onChoose, onDone }: SearchSheetProps) {
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
