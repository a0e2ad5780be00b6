import type { ComponentChildren } from 'preact';
import { Icon } from '../kit/Icon';
import { LongName } from '../kit/LongName';
import { Popover } from '../kit/Popover';

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
  /** A first row that stands for "no choice". */
  none?: string;
}

/** A menu of a few graphs or workers. */
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
          <div class="picker-list">
            {rows.map((choice) => (
              <button
                type="button"
                class="picker-row"
                key={choice.id}
                data-selected={choice.id === (selected ?? '')}
                onClick={() => {
                  onSelect(choice.id === '' ? null : choice.id);
                  close();
                }}
              >
                <span />
                <LongName name={choice.name} />
                {choice.detail && <span class="detail truncate">{choice.detail}</span>}
              </button>
            ))}
          </div>
        )}
      </Popover>
    </div>
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
