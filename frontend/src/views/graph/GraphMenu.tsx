import { useEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../kit/Popover';
import { commandsFor } from './canvas/graph_commands';
import type { GraphView } from './canvas/graph_view';

const WIDTH = 250;
const ROW = 28;

/** The menu of an entity, at the pointer. It takes the focus while it is open, and returns it. */
export function GraphMenu({ model, onDone }: { model: GraphView; onDone: () => void }) {
  const root = useRef<HTMLDivElement>(null);
  const menu = model.menu.value;
  const close = () => {
    model.menu.value = null;
    onDone();
  };
  useEffect(() => {
    if (!menu) return;
    root.current?.querySelector('button')?.focus();
    const outside = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) model.menu.value = null;
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [menu, model]);
  const commands = menu ? commandsFor(model, menu.entity) : [];
  if (!menu || commands.length === 0) return null;
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') moveFocus(root.current, event.key === 'ArrowDown' ? 1 : -1);
    else if (event.key === 'Escape' || event.key === 'Tab') close();
    else return;
    event.preventDefault();
  };
  const { width, height } = model.viewport.view;
  const place = {
    left: `${Math.max(0, Math.min(menu.x, width - WIDTH))}px`,
    top: `${Math.max(0, Math.min(menu.y, height - commands.length * ROW - 12))}px`,
  };
  return (
    <div
      ref={root}
      class="graph-menu graph-card"
      role="menu"
      aria-label="Node"
      data-testid="graph-menu"
      style={place}
      onKeyDown={onKeyDown}
    >
      {commands.map(({ label, key, run }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class="graph-menu-item"
          onClick={() => {
            close();
            run();
          }}
        >
          <span>{label}</span>
          {key && <kbd>{key}</kbd>}
        </button>
      ))}
    </div>
  );
}
