/** Bookmarked places of a run. */

import { decodeLink, VIEW_TITLES, type View } from './deep_link';

export interface Bookmark {
  /** The address: `#run=…`. */
  readonly link: string;
  readonly graph: string;
  /** The node's name, a scope's path ending in a slash, or empty for the whole view. */
  readonly place: string;
  readonly step: number | null;
  readonly name: string;
  readonly note: string;
}

/** The current view. */
export interface CurrentPlace extends Pick<Bookmark, 'graph' | 'place' | 'step'> {
  readonly view: View;
  /** Key of the selected layer. */
  readonly layer: string | null;
}

/** Whether it bookmarks the current view: there is one per place and step, and without a place one per view, layer and step. */
export function isSamePlace(bookmark: Bookmark, here: CurrentPlace): boolean {
  const same = bookmark.graph === here.graph && bookmark.place === here.place && bookmark.step === here.step;
  const { view, layer } = decodeLink(bookmark.link);
  return same && (here.place !== '' || (view === here.view && layer === here.layer));
}

/** Default name of a bookmark: the end of its path, or the layer, or the view. */
export function defaultName(place: string, view: View, layer?: string): string {
  if (place === '') return layer ?? VIEW_TITLES[view];
  return place.replace(/\/$/, '').replace(/^.*\//, '');
}

/** Second line of a bookmark: the scope, or the whole path once it has a custom name; nothing for a whole view. */
export function placeText({ place, name }: Bookmark): string {
  const path = place.replace(/\/$/, '');
  const cut = path.lastIndexOf('/') + 1;
  return path.slice(cut) === name ? path.slice(0, Math.max(0, cut - 1)) : path;
}

/** All of them as text, one name and link per line. */
export function bookmarksText(bookmarks: readonly Bookmark[], address: (link: string) => string): string {
  const entry = ({ name, note, link }: Bookmark) => `${name}${note === '' ? '' : `: ${note}`}\n${address(link)}\n`;
  return bookmarks.map(entry).join('\n');
}

/** Stored bookmarks of each run; invalid ones are skipped. */
export function readBookmarks(stored: unknown): Readonly<Record<string, readonly Bookmark[]>> | null {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return null;
  const lists = Object.entries(stored).map(([run, list]) => [run, Array.isArray(list) ? list.filter(isBookmark) : []] as const);
  return Object.fromEntries(lists);
}

function isBookmark(stored: unknown): stored is Bookmark {
  if (typeof stored !== 'object' || stored === null) return false;
  const { link, graph, place, step, name, note } = stored as Record<string, unknown>;
  const texts = [link, graph, place, name, note].every((text) => typeof text === 'string');
  return texts && (step === null || Number.isSafeInteger(step)) && String(link).startsWith('#');
}
