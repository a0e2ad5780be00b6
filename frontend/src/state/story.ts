/** The story that a page without a server shows. */

import { signal } from '@preact/signals';
import type { StoryFile } from '../api/story/story_file';
import { StoryProvider } from '../api/story/story_provider';
import { chosenRun } from './choices';
import { reloadRuns } from './live';
import { keptBookmarks } from './preferences';
import { useProvider } from './provider';

/** Null where a server answers. */
export const shownStory = signal<StoryFile | null>(null);

/** Makes the page show a story, with its reader's notes as bookmarks. */
export function openStory(story: StoryFile): StoryProvider {
  const provider = new StoryProvider(story);
  keptBookmarks.value = { ...keptBookmarks.value, [story.run]: story.notes };
  shownStory.value = story;
  return provider;
}

/** Shows another story in place of the one on show. */
export function replaceStory(story: StoryFile): void {
  useProvider(openStory(story));
  chosenRun.value = story.run;
  location.hash = story.link;
  void reloadRuns();
}
