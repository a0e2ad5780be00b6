import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../kit/Icon';
import { LongName } from '../kit/LongName';
import { moveFocus, Popover } from '../kit/Popover';

interface Choice {
  id: string;
  name: string;
  detail: string;
}

interface PickerProps {
  label: string;
  choices: readonly Choice[];
  selected: string | null;
  onSelect: (id: string | null) => void;
  /** A first row for "no choice". */
  none?: string;
}

/** A menu of graphs or workers; many can be searched. */
export function Picker({ label, choices, selected, onSelect, none }: PickerProps) {
  const current = choices.find((choice) => choice.id === selected);
  const rows = none ? [{ id: '', name: none, detail: '' }, ...choices] : choices;
  return (
    <div class="picker">
      <Popover
        label={label}
        className="choice-popover"
        trigger={(open, toggle) => <PickerButton label={label} name={current?.name ?? none ?? ''} open={open} toggle={toggle} />}
      >
        {(close) => (
          <SearchList
            noun={`${label.toLowerCase()}s`}
            rows={rows}
            searched={rows.length > UNSEARCHED}
            textOf={({ name, detail }) => `${name} ${detail}`}
            choose={({ id }) => {
              onSelect(id === '' ? null : id);
              close();
            }}
          >
            {(choice, onClick) => (
              <button type="button" class="picker-row" key={choice.id} data-selected={choice.id === (selected ?? '')} onClick={onClick}>
                <span />
                <LongName name={choice.name} />
                {choice.detail && <span class="detail truncate">{choice.detail}</span>}
              </button>
            )}
          </SearchList>
        )}
      </Popover>
    </div>
  );
}

/** Fewer need no search field; at most this many are drawn. */
const [UNSEARCHED, DRAWN] = [12, 200];

interface SearchListProps<T> {
  noun: string;
  rows: readonly T[];
  searched?: boolean;
  textOf: (row: T) => string;
  choose: (row: T) => void;
  children: (row: T, onClick: () => void) => ComponentChildren;
  testid?: string;
}

/** Rows, and a field for a part of their text; Enter chooses the first that has it. */
export function SearchList<T>({ noun, rows, searched = true, textOf, choose, children, testid }: SearchListProps<T>) {
  const [filter, setFilter] = useState('');
  const shown = rows.filter((row) => textOf(row).toLowerCase().includes(filter.toLowerCase()));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && shown[0]) choose(shown[0]);
    if (event.key === 'ArrowDown') moveFocus((event.currentTarget as HTMLElement).parentElement, 1);
  };
  return (
    <>
      {searched && (
        <input
          class="field picker-search"
          placeholder={`Search ${noun}`}
          aria-label={`Search ${noun}`}
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      )}
      <div class="picker-list" data-testid={testid}>
        {shown.slice(0, DRAWN).map((row) => children(row, () => choose(row)))}
        {shown.length > DRAWN && <div class="message">{shown.length - DRAWN} more: search</div>}
        {shown.length === 0 && <div class="message">No matching {noun}</div>}
      </div>
    </>
  );
}

interface PickerButtonProps {
  label: string;
  name: string;
  open: boolean;
  toggle: () => void;
  before?: ComponentChildren;
  testid?: string;
}

export function PickerButton({ label, name, open, toggle, before, testid }: PickerButtonProps) {
  return (
    <button
      type="button"
      class="button"
      onClick={toggle}
      aria-expanded={open}
      aria-label={`${label}: ${name}`}
      title={`${label}: ${name}`}
      data-testid={testid}
    >
      {before}
      <span class="picker-name">
        <LongName name={name} />
      </span>
      <Icon name="down" />
    </button>
  );
}
