import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { moveFocus } from '../kit/Popover';
import { toggleAllBlockGroups } from './canvas/graph_commands';
import type { GraphView } from './canvas/graph_view';
import { zoomBy } from './canvas/navigation';
import { PictureMenu } from './PictureMenu';
import { type GraphIconName, ToolButton } from './ToolButton';

/** A button of the toolbar; a new one is one row. */
interface Tool {
  readonly icon: GraphIconName;
  readonly label: string;
  readonly run: (model: GraphView) => void;
  /** For a toggle: whether it is on. `grouped`: whether repeated blocks are. */
  readonly pressed?: (model: GraphView, grouped: boolean) => boolean;
  readonly disabled?: (model: GraphView) => boolean;
}

/** In groups, with a line after each. */
const TOOLS: readonly (readonly Tool[])[] = [
  [
    { icon: 'minus', label: 'Zoom out (-)', run: (model) => zoomBy(model, 1 / 1.4) },
    { icon: 'plus', label: 'Zoom in (+)', run: (model) => zoomBy(model, 1.4) },
    { icon: 'fit', label: 'Fit to view (F)', run: (model) => model.fit() },
  ],
  [
    { icon: 'openAll', label: 'Expand all (])', run: (model) => model.setAllOpen(true) },
    { icon: 'closeAll', label: 'Collapse all ([)', run: (model) => model.setAllOpen(false), disabled: (model) => !model.anyOpen.value },
    {
      icon: 'stack',
      label: 'Group repeated blocks (U)',
      run: toggleAllBlockGroups,
      pressed: (_, grouped) => grouped,
      disabled: (model) => !model.hasBlocks.value,
    },
  ],
  [
    {
      icon: 'control',
      label: 'Show control dependencies (C)',
      run: (model) => model.setShowControl(!model.showControl.value),
      pressed: (model) => model.showControl.value,
    },
  ],
];

/** Buttons at the graph's upper right corner: one tab stop; arrow keys move between them. */
export function Toolbar({ model, subject, grouped }: { model: GraphView; subject: readonly string[]; grouped: boolean }) {
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
      {TOOLS.map((group, i) => (
        <Fragment key={i}>
          {group.map(({ icon, label, run, pressed, disabled }) => (
            <ToolButton
              key={icon}
              icon={icon}
              label={label}
              onClick={() => run(model)}
              {...(pressed && { pressed: pressed(model, grouped) })}
              disabled={disabled?.(model) ?? false}
            />
          ))}
          <span class="graph-rule" />
        </Fragment>
      ))}
      <PictureMenu model={model} subject={subject} />
      {progress && <Progress done={progress.done} total={progress.total} onCancel={() => model.cancel()} />}
    </div>
  );
}

/** Tab stops at one button, initially the first. */
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
