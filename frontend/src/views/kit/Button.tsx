import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './Icon';

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
  small?: boolean;
  testid?: string;
}

/** A button with only an icon; its label is for screen readers and the tooltip. */
export function IconButton({ icon, label, onClick, pressed, disabled, small, testid }: IconButtonProps) {
  return (
    <button
      type="button"
      class={`button quiet icon ${small ? 'small' : ''}`}
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
      data-testid={testid}
    >
      <Icon name={icon} />
    </button>
  );
}

interface SegmentedProps<T extends string> {
  label: string;
  options: readonly { value: T; label: string; disabled?: boolean }[];
  value: T;
  onChange: (value: T) => void;
}

/** One choice of a few, all visible. */
export function Segmented<T extends string>({ label, options, value, onChange }: SegmentedProps<T>) {
  return (
    <fieldset class="segmented" aria-label={label}>
      {options.map((option) => (
        <button
          type="button"
          key={option.value}
          aria-pressed={option.value === value}
          disabled={option.disabled}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}

interface SwitchProps {
  label: string;
  on: boolean;
  onChange: () => void;
  title?: string;
  testid?: string;
}

export function Switch({ label, on, onChange, title, testid }: SwitchProps) {
  return (
    <button type="button" role="switch" class="switch" aria-checked={on} onClick={onChange} title={title} data-testid={testid}>
      {label}
    </button>
  );
}

interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ComponentChildren;
  hideLabel?: boolean;
  testid?: string;
}

export function Select({ label, value, onChange, children, hideLabel, testid }: SelectProps) {
  return (
    <label class="labelled">
      <span class={hideLabel ? 'offscreen' : ''}>{label}</span>
      <select class="select small" value={value} onChange={(event) => onChange(event.currentTarget.value)} data-testid={testid}>
        {children}
      </select>
    </label>
  );
}
