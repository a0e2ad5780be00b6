import { computed, effect, type Signal, signal } from '@preact/signals';
import { listenToHostTheme } from '../../lib/host_page';
import { type Bookmark, readBookmarks } from '../../model/run/bookmarks';
import { type ColumnId, TABLE_COLUMNS } from '../../model/run/tensor_table';
import { CHART_CHOICES, DEFAULT_PICTURE, type PictureSettings, readPictureSettings } from '../../model/run/view_settings';

const PREFIX = 'tensortap.';

/** A signal stored in this browser. `read` validates the stored value; unavailable storage is not an error. */
function remembered<T>(key: string, initial: T, read: (stored: unknown) => T | null): Signal<T> {
  const value = signal(load(key, initial, read));
  let first = true;
  effect(() => {
    const text = JSON.stringify(value.value);
    if (!first) store(key, text);
    first = false;
  });
  return value;
}

function load<T>(key: string, initial: T, read: (stored: unknown) => T | null): T {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return (text === null ? null : read(JSON.parse(text))) ?? initial;
  } catch {
    return initial;
  }
}

function store(key: string, text: string): void {
  try {
    localStorage.setItem(PREFIX + key, text);
  } catch {
    // Private windows and some iframes refuse storage; the choice then lasts as long as the page.
  }
}

const flag = (stored: unknown) => (typeof stored === 'boolean' ? stored : null);
const oneOf =
  <T>(all: readonly T[]) =>
  (stored: unknown) =>
    all.find((one) => one === stored) ?? null;
const pixels = (least: number, most: number) => (stored: unknown) =>
  typeof stored === 'number' && stored >= least && stored <= most ? stored : null;

type Theme = 'light' | 'dark';

/** Null follows TensorBoard, else the system. */
const themeChoice = remembered<Theme | null>('theme', null, (stored) => (stored === 'light' || stored === 'dark' ? stored : null));

const darkSystem = window.matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<Theme>(darkSystem.matches ? 'dark' : 'light');
darkSystem.addEventListener('change', (event) => {
  systemTheme.value = event.matches ? 'dark' : 'light';
});

const hostTheme = signal<Theme | null>(null);
listenToHostTheme((dark) => {
  const name = dark ? 'dark' : 'light';
  // Changing TensorBoard's theme also changes its tabs.
  if (hostTheme.value !== null && hostTheme.value !== name) themeChoice.value = null;
  hostTheme.value = name;
});

export const theme = computed<Theme>(() => themeChoice.value ?? hostTheme.value ?? systemTheme.value);

export function toggleTheme(): void {
  themeChoice.value = theme.value === 'dark' ? 'light' : 'dark';
}

/** In a narrow window the panel takes two fifths, in a very wide one a fifth. */
export const initialPanelWidth = (): number =>
  Math.round(Math.max(340, Math.min(0.4 * window.innerWidth, Math.max(460, 0.2 * window.innerWidth))));
export const panelWidth = remembered('panelWidth', initialPanelWidth(), pixels(280, 2000));
export const panelOpen = remembered('panelOpen', true, flag);
/** Whether the panel is open while nothing is selected. */
export const runPanelOpen = remembered('runPanelOpen', true, flag);
export const problemsWidth = remembered('problemsWidth', 248, pixels(200, 600));
export const problemsOpen = remembered<boolean | null>('problemsOpen', null, flag);
export const histogramScale = remembered('histogramScale', 'symlog', oneOf(CHART_CHOICES.axis));
export const histogramMode = remembered('histogramMode', 'ridgeline', oneOf(CHART_CHOICES.chart));
/** Columns of the list of tensors; null shows as many as fit. */
export const tableColumns = remembered<readonly ColumnId[] | null>('tableColumns', null, (stored) =>
  Array.isArray(stored) ? TABLE_COLUMNS.map(({ id }) => id).filter((id) => stored.includes(id)) : null,
);
/** Whether long lines of the program are wrapped. */
export const sourceWrapped = remembered('sourceWrapped', false, flag);
/** The first view of the page. */
export const modelPicture = remembered('modelPicture', 'layers', oneOf(['layers', 'graph'] as const));
/** Recent choices of the command palette, the last first: group and name. */
export const recentChoices = remembered<readonly (readonly [string, string])[]>('recentChoices', [], (stored) =>
  Array.isArray(stored)
    ? stored.filter((one) => Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === 'string'))
    : null,
);
/** Muted rules of each run. */
export const mutedFindings = remembered<Readonly<Record<string, readonly string[]>>>('muted', {}, (stored) => {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return null;
  const runs = Object.entries(stored).filter(([, rules]) => Array.isArray(rules) && rules.every((rule) => typeof rule === 'string'));
  return Object.fromEntries(runs);
});
export const historyLog = remembered('historyLog', false, flag);
export const historyBand = remembered('historyBand', 'spread', oneOf(CHART_CHOICES.band));
/** One tensor's history, or those of the pinned ones overlaid or stacked. */
export type HistoryView = (typeof CHART_CHOICES.histories)[number];
export const historyView = remembered('historyView', 'one', oneOf(CHART_CHOICES.histories));
export const comparedStatistic = remembered('comparedStatistic', 'mean', oneOf(CHART_CHOICES.by));
/** Bookmarks of each run. */
export const keptBookmarks = remembered<Readonly<Record<string, readonly Bookmark[]>>>('bookmarks', {}, readBookmarks);
// Windows of the page share one list: otherwise each would overwrite the other's additions.
window.addEventListener('storage', ({ key }) => {
  if (key === `${PREFIX}bookmarks`) keptBookmarks.value = load('bookmarks', {}, readBookmarks);
});
/** Options of the last exported picture. */
export const pictureSettings = remembered<PictureSettings>('picture', DEFAULT_PICTURE, readPictureSettings);
