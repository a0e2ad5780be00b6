import { GraphIcon, type GraphIconName } from './icons';

interface ToolButtonProps {
  icon: GraphIconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  /** Of a button with a dialog: whether that is open. */
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
