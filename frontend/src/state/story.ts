/** The story shown by a page without a server. */

import { signal } from '@preact/signals';
import { type StoryFile, storyPage } from '../api/story/story_file';
import { StoryProvider } from '../api/story/story_provider';
import { addVisited } from '../api/story/visited';
import { exactPlace } from '../lib/host_page';
import { reloadRuns } from './live';
import { bookmarks } from './page/bookmarks';
import { chosenRun, chosenTensor, pins } from './page/choices';
import { keptBookmarks } from './page/preferences';
import { api, useProvider, visitedAnswers } from './provider';
import { runs } from './runs';
import { step } from './steps';

/** Null with a server. */
export const shownStory = signal<StoryFile | null>(null);

/** Shows a story, with the reader's notes as bookmarks. */
export function openStory(story: StoryFile): StoryProvider {
  const provider = new StoryProvider(story);
  keptBookmarks.value = { ...keptBookmarks.value, [story.run]: story.notes };
  shownStory.value = story;
  return provider;
}

/** Shows another story in place of the current one. */
export function replaceStory(story: StoryFile): void {
  useProvider(openStory(story));
  chosenRun.value = story.run;
  location.hash = story.link;
  void reloadRuns();
}

/** The steps chosen by the reader: the current one and those of bookmarks. */
const MOST_STEPS = 16;

/** The static viewer with a story of a run: the server's recording, the reader's views, and bookmarks with notes. */
export async function makeStory(run: string, abort: AbortSignal): Promise<{ page: Blob; story: StoryFile }> {
  // A story cannot replay: it opens on the default view instead.
  const [link, notes] = [exactPlace(location.hash).replace('&view=stepper', ''), bookmarks.value];
  const steps = [step.value, ...notes.map((note) => note.step)].filter((at) => at !== null);
  const tensors = [...pins.value, ...(chosenTensor.value === null ? [] : [chosenTensor.value])];
  const recorded = await api().story(run, { tensors, steps: [...new Set(steps)].slice(0, MOST_STEPS) }, abort);
  const whole = await addVisited(recorded, visitedAnswers(), runs.value, abort);
  const story = { ...whole, link: link || whole.link, notes };
  return { page: new Blob([await storyPage(await viewerText(abort), story)], { type: 'text/html' }), story };
}

async function viewerText(abort: AbortSignal): Promise<string> {
  const answer = await fetch(new URL('viewer.html', document.baseURI), { signal: abort, credentials: 'same-origin' });
  if (!answer.ok) throw new Error('The server has no static viewer. Build the page again: make frontend.');
  return answer.text();
}
