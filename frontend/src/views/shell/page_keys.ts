import { VIEW_NAMES, VIEWS } from '../../model/run/deep_link';
import { pinHere } from '../../model/run/pins';
import { toggleBookmark } from '../../state/page/bookmarks';
import { chosenTensor, panelTab, view } from '../../state/page/choices';
import { modelPicture, toggleTheme } from '../../state/page/preferences';
import {
  helpOpen,
  maximisePanel,
  paletteOpen,
  panelMaximised,
  togglePalette,
  togglePanel,
  toggleProblems,
  typedAhead,
} from '../../state/page/ui';
import { selectTensor } from '../../state/selection';
import { stepBy, toggleFollowing } from '../../state/steps';
import { togglePin } from '../../state/tensors/pins';
import { handleKey } from '../graph/canvas/graph_keys';
import { currentGraphView } from '../graph/canvas/navigation';
import { togglePlay } from './StepBar';

export interface KeyRow {
  readonly keys: readonly string[];
  readonly does: string;
  /** Titles of the single keys of a row, for the command palette. */
  readonly each?: Readonly<Record<string, string>>;
  /** It needs a selection. */
  readonly selected?: boolean;
}

interface Command extends KeyRow {
  readonly run: (key: string) => void;
}

const toTab = (tab: typeof panelTab.value) => () => {
  panelTab.value = tab;
};

/** The page's own keys: the help overlay lists them, the handler below runs them. */
export const KEYS: readonly Command[] = [
  {
    keys: ['Ctrl+K'],
    does: 'Command palette (commands, nodes, layers, source lines, problems, steps, runs)',
    run: togglePalette,
  },
  {
    keys: ['←', '→'],
    does: 'Previous / next step',
    each: { '←': 'Previous step', '→': 'Next step' },
    run: (key) => stepBy(key === 'ArrowLeft' ? -1 : 1),
  },
  { keys: ['p'], does: 'Play / pause', run: togglePlay },
  { keys: ['l'], does: 'Follow the latest step', run: toggleFollowing },
  {
    keys: ['g'],
    does: `Next view: ${VIEW_NAMES.map(({ label }) => label).join(', ')}`,
    run: () => {
      view.value = VIEWS[(VIEWS.indexOf(view.value) + 1) % VIEWS.length] ?? 'graph';
      maximisePanel(false);
    },
  },
  { keys: ['o'], selected: true, does: 'Overview of the node', run: toTab('overview') },
  { keys: ['s'], selected: true, does: 'History of its statistics', run: toTab('history') },
  { keys: ['h'], selected: true, does: 'Histograms', run: toTab('histogram') },
  { keys: ['v'], selected: true, does: 'Value', run: toTab('value') },
  {
    keys: ['k'],
    selected: true,
    does: 'Pin tensor to compare histories',
    run: () => chosenTensor.value !== null && togglePin(pinHere(chosenTensor.value)),
  },
  {
    keys: ['e'],
    selected: true,
    does: 'Enlarge the node panel',
    run: () => {
      maximisePanel(!panelMaximised.value);
    },
  },
  {
    keys: ['a', 'A'],
    does: 'Toggle bookmark; open bookmarks',
    each: { a: 'Toggle bookmark', A: 'Open bookmarks' },
    run: (key) => (key === 'a' ? toggleBookmark() : document.querySelector<HTMLElement>('[data-testid=bookmarks]')?.click()),
  },
  { keys: ['\\'], does: 'Show or hide the node panel', run: togglePanel },
  {
    keys: ['w', 'W'],
    does: 'Open Problems; show or hide the problems sidebar',
    each: { w: 'Open Problems', W: 'Show or hide the problems sidebar' },
    run: (key) => {
      if (key === 'W') {
        toggleProblems();
        return;
      }
      view.value = view.value === 'problems' ? modelPicture.value : 'problems';
      maximisePanel(false);
    },
  },
  // In the graph, the graph's own search takes this key first.
  {
    keys: ['/'],
    does: 'Search graph / filter table',
    run: () => document.querySelector<HTMLElement>('.table-search, .graph-search-input')?.focus(),
  },
  { keys: ['t'], does: 'Toggle dark mode', run: toggleTheme },
  {
    keys: ['?'],
    does: 'Keyboard shortcuts',
    run: () => {
      helpOpen.value = !helpOpen.value;
    },
  },
  {
    keys: ['Esc'],
    does: 'Close dialog / panel, then clear selection',
    run: () => {
      if (helpOpen.value) helpOpen.value = false;
      else if (panelMaximised.value) maximisePanel(false);
      else selectTensor(null);
    },
  },
];

const NAMES: Record<string, string> = { ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' };

/** `event.key` as displayed. */
export const eventKey = (name: string): string => Object.entries(NAMES).find(([, written]) => written === name)?.[0] ?? name;

/** Runs a key's command unless a text field, or the focused part of the page, handles the key. */
export function onPageKey(event: KeyboardEvent): void {
  if (isPaletteKey(event)) {
    event.preventDefault();
    togglePalette();
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  if (paletteOpen.value && (event.key.length === 1 || event.key === 'Enter')) {
    typedAhead.value += event.key === 'Enter' ? '\n' : event.key;
    event.preventDefault();
    return;
  }
  if (graphTakes(event)) {
    event.preventDefault();
    return;
  }
  const name = NAMES[event.key] ?? event.key;
  const command = KEYS.find((candidate) => candidate.keys.includes(name));
  if (!command || (name === '/' && view.value === 'graph')) return;
  event.preventDefault();
  command.run(event.key);
}

/** The current graph handles its keys without the focus, except those of the steps; if a control has the focus, only letters. */
function graphTakes(event: KeyboardEvent): boolean {
  const model = currentGraphView.value;
  const free = event.target === document.body ? !['ArrowLeft', 'ArrowRight'].includes(event.key) : event.key.length === 1;
  return model !== null && free && !helpOpen.value && handleKey(model, event);
}

/** From text fields, too. */
const isPaletteKey = (event: KeyboardEvent): boolean =>
  event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;

/** Text fields and lists take all keys, a slider only those that move it. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const field = target.closest('input, textarea, select, [contenteditable]');
  const isLetter = key.length === 1 && key !== ' ';
  return field !== null && !(isLetter && field instanceof HTMLInputElement && field.type === 'range');
}
