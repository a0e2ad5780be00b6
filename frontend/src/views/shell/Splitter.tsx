import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { initialPanelWidth, panelWidth, problemsWidth } from '../../state/page/preferences';

interface SplitterProps {
  label: string;
  width: Signal<number>;
  /** The side of the pane whose width it sets. */
  side: 'left' | 'right';
  least: number;
  most: () => number;
  initial: number;
}

/** Minimum width of the graph. */
const REST = 260;

/** Divides two panes; dragged, or moved with the arrow keys. */
function Splitter({ label, width, side, least, most, initial }: SplitterProps) {
  const [dragging, setDragging] = useState(false);
  const set = (wanted: number) => {
    width.value = Math.round(Math.max(least, Math.min(most(), wanted)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const offset = event.key === 'ArrowLeft' ? -24 : event.key === 'ArrowRight' ? 24 : 0;
    if (offset === 0) return;
    event.preventDefault();
    set(width.value + (side === 'left' ? offset : -offset));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves is a widget, which no element stands for
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width.value}
      aria-valuemin={least}
      aria-valuemax={most()}
      tabIndex={0}
      data-dragging={dragging}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragging(true);
      }}
      onPointerMove={(event) => dragging && set(side === 'left' ? event.clientX : window.innerWidth - event.clientX)}
      onPointerUp={() => setDragging(false)}
      onDblClick={() => set(initial)}
    />
  );
}

export function PanelSplitter() {
  const most = () => window.innerWidth - REST;
  return <Splitter label="Width of the node panel" width={panelWidth} side="right" least={320} most={most} initial={initialPanelWidth()} />;
}

export function ProblemsSplitter() {
  return <Splitter label="Width of the problems sidebar" width={problemsWidth} side="left" least={200} most={() => 600} initial={248} />;
}
