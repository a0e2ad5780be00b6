import { useEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../kit/Popover';
import { toggleAllStacks } from './canvas/graph_commands';
import type { GraphView } from './canvas/graph_view';
import { zoomBy } from './canvas/navigation';
import { PictureMenu } from './PictureMenu';
import { ToolButton } from './ToolButton';

/** Buttons over the graph's upper right corner: one stop of the Tab key, the arrow keys go from one to the next. */
export function Toolbar({ model, subject, stacked }: { model: GraphView; subject: readonly string[]; stacked: boolean }) {
  const progress = model.progress.value;
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => tabTo(root.current, null), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const offset = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (offset === 0) return;
    event.preventDefault();
    event.stopPropagation();
    moveFocus(root.current, offset);
  };
  return (
    <div
      ref={root}
      class="graph-toolbar graph-card"
      role="toolbar"
      aria-label="Graph view"
      onKeyDown={onKeyDown}
      onFocusIn={(event) => tabTo(root.current, event.target)}
    >
      <ToolButton icon="minus" label="Zoom out (-)" onClick={() => zoomBy(model, 1 / 1.4)} />
      <ToolButton icon="plus" label="Zoom in (+)" onClick={() => zoomBy(model, 1.4)} />
      <ToolButton icon="fit" label="Fit the graph into view (f)" onClick={() => model.fit()} />
      <span class="graph-rule" />
      <ToolButton icon="openAll" label="Open all scopes (])" onClick={() => model.setAllOpen(true)} />
      <ToolButton icon="closeAll" label="Close all scopes ([)" disabled={!model.anyOpen.value} onClick={() => model.setAllOpen(false)} />
      <ToolButton
        icon="stack"
        label="Stack repeated blocks (U)"
        pressed={stacked}
        disabled={!model.hasBlocks.value}
        onClick={() => toggleAllStacks(model)}
      />
      <span class="graph-rule" />
      <ToolButton
        icon="control"
        label="Control edges (c)"
        pressed={model.showControl.value}
        onClick={() => model.setShowControl(!model.showControl.value)}
      />
      <span class="graph-rule" />
      <PictureMenu model={model} subject={subject} />
      {progress && <Progress done={progress.done} total={progress.total} onCancel={() => model.cancel()} />}
    </div>
  );
}

/** Tab stops at one button, the first one at first. */
function tabTo(root: HTMLElement | null, wanted: EventTarget | null): void {
  const buttons = [...(root?.querySelectorAll<HTMLElement>('.graph-button') ?? [])];
  const stop = buttons.find((button) => button === wanted) ?? buttons[0];
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
}

function Progress({ done, total, onCancel }: { done: number; total: number; onCancel: () => void }) {
  return (
    <div class="graph-progress">
      <progress max={total} value={done} aria-label="Scopes laid out" />
      <button type="button" class="graph-text-button" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}
