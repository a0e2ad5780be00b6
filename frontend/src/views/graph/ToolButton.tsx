import { GraphIcon, type GraphIconName } from './icons';

interface ToolButtonProps {
  icon: GraphIconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
}

/** A button of the graph's toolbar. */
export function ToolButton({ icon, label, onClick, pressed, disabled = false }: ToolButtonProps) {
  return (
    <button
      type="button"
      class="graph-button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <GraphIcon name={icon} />
    </button>
  );
}
