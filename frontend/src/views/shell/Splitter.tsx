import { useState } from 'preact/hooks';
import { panelWidth } from '../../state/preferences';

const NARROWEST = 320;
/** What stays of the graph. */
const REST = 260;

function setWidth(width: number): void {
  panelWidth.value = Math.round(Math.max(NARROWEST, Math.min(window.innerWidth - REST, width)));
}

/** Divides the graph from the node panel; dragged, or moved with the arrow keys. */
export function Splitter() {
  const [dragging, setDragging] = useState(false);
  const onKeyDown = (event: KeyboardEvent) => {
    const offset = event.key === 'ArrowLeft' ? 24 : event.key === 'ArrowRight' ? -24 : 0;
    if (offset === 0) return;
    event.preventDefault();
    setWidth(panelWidth.value + offset);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves is a widget, which no element stands for
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the node panel"
      aria-valuenow={panelWidth.value}
      aria-valuemin={NARROWEST}
      aria-valuemax={window.innerWidth - REST}
      tabIndex={0}
      data-dragging={dragging}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragging(true);
      }}
      onPointerMove={(event) => dragging && setWidth(window.innerWidth - event.clientX)}
      onPointerUp={() => setDragging(false)}
      onDblClick={() => setWidth(460)}
    />
  );
}
