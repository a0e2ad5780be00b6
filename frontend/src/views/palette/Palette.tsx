import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { keyName } from '../../lib/keyboard';
import { LatestRequest } from '../../lib/scheduling';
import { visible } from '../../lib/text/visible_text';
import { fuzzyMatch, fuzzyTerms } from '../../model/search/fuzzy';
import { linesWanted } from '../../state/graph/source';
import { paletteOpen, rememberChoice, typedAhead } from '../../state/page/ui';
import { Icon } from '../kit/Icon';
import { CutPath } from '../kit/LongName';
import { idOf, sources } from './choice_sources';
import { findChoices, type Group, type Listed } from './find_choices';

const close = () => {
  paletteOpen.value = false;
};

/** One field that finds everything: commands, nodes, scopes, ops, layers, source lines, problems, steps, runs. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const then = useRef<(() => void) | undefined>(undefined);
  // Before it is painted: letters typed at once are for its field, not keys of the page.
  useLayoutEffect(() => {
    linesWanted.value = true;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close(); // returns the focus, which the chosen action may need
      then.current?.();
    };
  }, []);
  return (
    <dialog
      class="dialog palette"
      aria-label="Find anything"
      data-testid="palette"
      ref={dialog}
      onClose={(event) => event.currentTarget.isConnected && close()} // by the browser; reported later, possibly after reopening
      onClick={(event) => event.target === dialog.current && close()}
    >
      <Finder
        onDone={(run) => {
          then.current = run;
          close();
        }}
      />
    </dialog>
  );
}

function Finder({ onDone }: { onDone: (run?: () => void) => void }) {
  const [text, setText] = useState(() => typedAhead.peek().replace(/\n.*/s, ''));
  const [active, setActive] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const { groups, of } = useFound(text, () => setActive(0));
  const rows = groups.flatMap(({ choices }) => choices);
  const choose = (row: Listed | undefined) => {
    if (!row) return;
    if (row.fill === undefined) {
      if (row.of !== 'Search') rememberChoice(row.of, idOf(row));
      onDone(row.run);
      return;
    }
    setText(row.fill);
    field.current?.focus();
  };
  const entered = useEntered(of === text, () => choose(rows[active]));
  const onKeyDown = (event: KeyboardEvent) => {
    const to = target(event, active, rows.length);
    if (event.key === 'Escape') onDone();
    else if (event.key === 'Enter' && !event.isComposing) entered(true);
    else if (to !== null) setActive(to);
    else return;
    event.preventDefault();
  };
  return (
    <div class="palette-card" onKeyDown={onKeyDown}>
      <div class="palette-head">
        <Icon name="search" />
        <input
          ref={field}
          class="palette-field"
          type="text"
          role="combobox"
          aria-expanded={rows.length > 0}
          aria-controls="palette-list"
          aria-activedescendant={rows.length > 0 ? `palette-${active}` : undefined}
          aria-autocomplete="list"
          aria-label="Find anything"
          placeholder="Search commands, nodes, layers, train.py:17, step 40, problems, runs…"
          spellcheck={false}
          autocomplete="off"
          data-testid="palette-field"
          value={text}
          onInput={(event) => {
            entered(false);
            setText(event.currentTarget.value);
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <Rows groups={groups} terms={fuzzyTerms(of ?? '')} active={active} onPoint={setActive} onChoose={choose} />
      <div class="offscreen" role="status">
        {text !== '' && of !== null ? `${rows.length} found` : ''}
      </div>
    </div>
  );
}

interface Found {
  readonly groups: readonly Group[];
  /** The text that found them; null before the first. */
  readonly of: string | null;
}

/** Results for a text; previous ones stay until they are known. */
function useFound(text: string, onText: () => void): Found {
  const [found, setFound] = useState<Found>({ groups: [], of: null });
  const latest = useMemo(() => new LatestRequest(), []);
  const known = sources.value; // lines and findings may arrive while it is open
  useEffect(() => {
    void findChoices(text, known, latest.start()).then((groups) => {
      if (groups !== null) setFound({ groups, of: text });
    });
  }, [text, known]);
  useEffect(onText, [text]);
  useEffect(() => () => latest.cancel(), []);
  return found;
}

/** Runs the choice on Enter, once the list matches the text: fast typists do not mean previous results. */
function useEntered(known: boolean, choose: () => void): (wanted: boolean) => void {
  const [wanted, setWanted] = useState(() => typedAhead.peek().includes('\n'));
  useEffect(() => {
    if (!wanted || !known) return;
    setWanted(false);
    choose();
  }, [wanted, known]);
  return setWanted;
}

const PAGE = 8;

/** Target of a key, cyclic; null for other keys. */
function target(event: KeyboardEvent, active: number, count: number): number | null {
  if (count === 0 || event.altKey || event.metaKey) return null;
  const control = event.ctrlKey ? { n: 1, p: -1 }[event.key] : undefined; // as in editors and shells
  const offset = control ?? { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (offset !== undefined) return (active + offset + count) % count;
  if (event.key === 'PageDown') return Math.min(count - 1, active + PAGE);
  if (event.key === 'PageUp') return Math.max(0, active - PAGE);
  return null;
}

interface RowsProps {
  groups: readonly Group[];
  terms: readonly string[];
  active: number;
  onPoint: (index: number) => void;
  onChoose: (row: Listed) => void;
}

function Rows({ groups, terms, active, onPoint, onChoose }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active, groups]);
  let index = 0;
  return (
    <div ref={list} id="palette-list" class="palette-list" role="listbox" aria-label="Found">
      {groups.map(({ title, choices, note }) => (
        // biome-ignore lint/a11y/useSemanticElements: a list box may hold groups, not field sets
        <div key={title} role="group" aria-label={title}>
          <div class="palette-group" aria-hidden="true">
            {title}
          </div>
          {note && (
            <div class="palette-row palette-note" role="option" aria-disabled="true" aria-selected="false" tabIndex={-1}>
              {note}
            </div>
          )}
          {choices.map((row) => {
            const at = index++;
            return (
              <div
                key={`${row.of} ${idOf(row)}`}
                id={`palette-${at}`}
                class="palette-row"
                role="option"
                aria-selected={at === active}
                tabIndex={-1}
                data-testid="palette-row"
                onPointerMove={() => at !== active && onPoint(at)}
                onClick={() => onChoose(row)}
              >
                <CutPath path={row.text} marked={row.of === 'Search' ? undefined : lettersOf(row.text, terms)} class="palette-text" />
                {title === 'Recent' && <span class="palette-detail">{row.of}</span>}
                {row.detail && (
                  <span class="palette-detail num" title={visible(row.detail)}>
                    {visible(row.detail)}
                  </span>
                )}
                {row.key && <kbd>{keyName(row.key)}</kbd>}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** Positions of the letters that matched. */
const lettersOf = (text: string, terms: readonly string[]): ReadonlySet<number> =>
  new Set(terms.length > 0 ? fuzzyMatch(text, terms).places : []);
