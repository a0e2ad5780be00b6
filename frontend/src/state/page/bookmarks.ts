import { computed, signal } from '@preact/signals';
import { exactPlace } from '../../lib/host_page';
import { type Bookmark, type CurrentPlace, defaultName, isSamePlace } from '../../model/run/bookmarks';
import { selectedItem } from '../graph/layers';
import { graphId, runId } from '../runs';
import { selectedNode } from '../selection';
import { step } from '../steps';
import { chosenLayer, chosenScope, view } from './choices';
import { keptBookmarks } from './preferences';

/** Bookmarks of the current run, stored in this browser; the newest is last. */
export const bookmarks = computed<readonly Bookmark[]>(() => (runId.value === null ? [] : (keptBookmarks.value[runId.value] ?? [])));

const here = computed<CurrentPlace>(() => {
  const scope = chosenScope.value === null ? '' : `${chosenScope.value}/`;
  const place = selectedNode.value ?? scope;
  return { graph: graphId.value ?? '', place, step: step.value, view: view.value, layer: chosenLayer.value };
});

export const bookmarkedHere = computed(() => bookmarks.value.some((one) => isSamePlace(one, here.value)));

/** Bookmarked places of the current graph, at any step. */
export const bookmarkedPlaces = computed(() =>
  bookmarks.value.filter(({ graph, place }) => graph === graphId.value && place !== '').map(({ place }) => place),
);

interface Removed {
  readonly run: string;
  readonly bookmark: Bookmark;
  readonly at: number;
}

/** The last removed bookmark, until another action on bookmarks. */
const lastRemoved = signal<Removed | null>(null);
export const removedBookmark = computed(() => (lastRemoved.value?.run === runId.value ? lastRemoved.value.bookmark : null));

function keep(list: readonly Bookmark[]): void {
  if (runId.value === null) return;
  lastRemoved.value = null;
  keptBookmarks.value = { ...keptBookmarks.value, [runId.value]: list };
}

/** Adds or removes the bookmark of this view. */
export function toggleBookmark(): void {
  const found = bookmarks.value.find((one) => isSamePlace(one, here.value));
  if (found) {
    removeBookmark(found);
    return;
  }
  const { view: shown, layer: _, ...place } = here.value;
  const name = defaultName(place.place, shown, selectedItem.value?.title);
  keep([...bookmarks.value, { ...place, link: exactPlace(location.hash), name, note: '' }]);
}

export function removeBookmark(bookmark: Bookmark): void {
  const at = bookmarks.value.indexOf(bookmark);
  if (at < 0 || runId.value === null) return;
  keep(bookmarks.value.filter((one) => one !== bookmark));
  lastRemoved.value = { run: runId.value, bookmark, at };
}

export function undoRemoval(): void {
  const removed = lastRemoved.value;
  if (removed === null || removedBookmark.value === null) return;
  keep(bookmarks.value.toSpliced(removed.at, 0, removed.bookmark));
}

/** Changes its name or note. */
export function changeBookmark(bookmark: Bookmark, part: Partial<Pick<Bookmark, 'name' | 'note'>>): void {
  keep(bookmarks.value.map((one) => (one === bookmark ? { ...one, ...part } : one)));
}

/** Goes to where it was set. */
export function goToBookmark({ link }: Bookmark): void {
  location.hash = link;
}
