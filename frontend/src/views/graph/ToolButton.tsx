interface ToolButtonProps {
  icon: GraphIconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  /** For a button with a dialog: whether it is open. */
  opens?: boolean;
  disabled?: boolean;
}

/** A button of the graph's toolbar. */
export function ToolButton({ icon, label, onClick, pressed, opens, disabled = false }: ToolButtonProps) {
  return (
    <button
      type="button"
      class="graph-button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      aria-haspopup={opens === undefined ? undefined : 'dialog'}
      aria-expanded={opens}
      disabled={disabled}
      onClick={onClick}
    >
      <GraphIcon name={icon} />
    </button>
  );
}

/** Icons of the graph's toolbar, on a 16 px grid. */
const PATHS = {
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  fit: 'M2.5 6V3.5a1 1 0 0 1 1-1H6M10 2.5h2.5a1 1 0 0 1 1 1V6M13.5 10v2.5a1 1 0 0 1-1 1H10M6 13.5H3.5a1 1 0 0 1-1-1V10',
  openAll: 'M3 3h10v10H3ZM8 5.5v5M5.5 8h5',
  closeAll: 'M3 3h10v10H3ZM5.5 8h5',
  stack: 'M2.5 6.5h8v7h-8ZM5 6V4.2h8v7h-2M7.5 4V2h6.5v6.5h-1',
  control: 'M2.5 8h2M6.5 8h2M10.5 8h1M11 5.2 14 8l-3 2.8',
  picture: 'M2.5 3.5h11v9h-11ZM2.5 11l3.2-3.4 2.6 2.6 1.9-1.9 3.3 3.2M10.6 6.2v.01',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3l3.2 3.2',
  up: 'm4 10 4-4 4 4',
  down: 'm4 6 4 4 4-4',
  clear: 'm4.5 4.5 7 7M11.5 4.5l-7 7',
} as const;

export function GraphIcon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="graph-icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export type GraphIconName = keyof typeof PATHS;
