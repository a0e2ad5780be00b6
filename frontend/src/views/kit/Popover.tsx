import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface PopoverProps {
  /** Draws the button that opens it. */
  trigger: (open: boolean, toggle: () => void) => ComponentChildren;
  children: (close: () => void) => ComponentChildren;
  label: string;
  end?: boolean;
  className?: string;
}

/** A panel below its button. Escape and a click elsewhere close it; the arrow keys move along its buttons. */
export function Popover({ trigger, children, label, end, className }: PopoverProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>('button')?.focus();
  };

  // Before it is painted, so that an immediate key press finds the focus.
  useLayoutEffect(() => {
    if (!open) return;
    if (panel.current && root.current) keepInView(panel.current, root.current);
    panel.current?.querySelector<HTMLElement>('input, button[data-selected="true"], button')?.focus();
    const outside = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    const release = panel.current && holdFocus(panel.current);
    return () => {
      document.removeEventListener('pointerdown', outside);
      release?.();
    };
  }, [open]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      event.stopPropagation();
      moveFocus(panel.current, event.key === 'ArrowDown' ? 1 : -1);
    }
  };

  return (
    <div class="anchor" ref={root}>
      {trigger(open, () => setOpen(!open))}
      {open && (
        <div class={`popover ${end ? 'end' : ''} ${className ?? ''}`} role="dialog" aria-label={label} ref={panel} onKeyDown={onKeyDown}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

/** Pixels between a panel and the edge of what shows it. */
const MARGIN = 8;

/** Moves a panel sideways that the window or a scrolling pane would cut, and above its button if there is more room in the window. */
function keepInView(panel: HTMLElement, anchor: HTMLElement): void {
  const [box, button] = [panel.getBoundingClientRect(), anchor.getBoundingClientRect()];
  const [left, right] = shownWidth(anchor);
  const across = Math.max(left + MARGIN - box.left, Math.min(0, right - MARGIN - box.right));
  if (across !== 0) panel.style.translate = `${across}px 0`;
  const [below, above] = [window.innerHeight - MARGIN - box.top, button.top - 2 * MARGIN];
  if (box.height <= below) return;
  panel.dataset.above = String(above > below);
  panel.style.maxHeight = `${Math.max(above, below)}px`;
}

/** The left and right edge of the window or, inside it, of the panes around an element that cut what exceeds them. */
function shownWidth(element: HTMLElement): [number, number] {
  let [left, right] = [0, window.innerWidth];
  for (let pane = element.parentElement; pane !== null; pane = pane.parentElement) {
    if (getComputedStyle(pane).overflowX === 'visible') continue;
    const box = pane.getBoundingClientRect();
    [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
  }
  return [left, right];
}

/** If a focused control is replaced, the replacement gets the focus; otherwise keys would act on the page. */
function holdFocus(root: HTMLElement): () => void {
  let at = 0;
  const note = () => {
    at = controlsOf(root).indexOf(document.activeElement as HTMLElement);
  };
  const changed = new MutationObserver(() => {
    const controls = controlsOf(root);
    if (document.activeElement === document.body) controls[Math.max(0, Math.min(controls.length - 1, at))]?.focus();
  });
  note();
  root.addEventListener('focusin', note);
  changed.observe(root, { childList: true, subtree: true });
  return () => {
    root.removeEventListener('focusin', note);
    changed.disconnect();
  };
}

const controlsOf = (root: HTMLElement | null) => [...(root?.querySelectorAll<HTMLElement>('input, button:not(:disabled)') ?? [])];

/** Moves the focus to the next or previous control inside `root`. */
export function moveFocus(root: HTMLElement | null, offset: number): void {
  const controls = controlsOf(root);
  const at = controls.indexOf(document.activeElement as HTMLElement);
  controls[Math.max(0, Math.min(controls.length - 1, at + offset))]?.focus();
}
