/** Makes the files that the Share menu saves. */

import { type StoryFile, storyPage } from '../api/story/story_file';
import { addVisited } from '../api/story/visited';
import { exactPlace } from '../lib/host_page';
import { bookmarks } from './bookmarks';
import { chosenTensor, pins } from './choices';
import { api, visitedAnswers } from './provider';
import { runs } from './runs';
import { step } from './steps';

/** Of the reader's own choice: the step on show and those of bookmarks. */
const MOST_STEPS = 16;

/** The static viewer with a story of a run in it: what the server records, what was looked at, and the bookmarks with their notes. */
export async function makeStory(run: string, abort: AbortSignal): Promise<{ page: Blob; story: StoryFile }> {
  const [link, notes] = [exactPlace(location.hash), bookmarks.value];
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
