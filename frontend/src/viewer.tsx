/** The static viewer: the page without a server, over the story in its own file or in a .tap.zip that is dropped on it. */

import './styles/index.css';
import { render } from 'preact';
import { embeddedStory, type StoryFile, StoryFileError, storyOfPage } from './api/story/story_file';
import { storyOfTapZip } from './api/story/tap_zip';
import { mount } from './mount';
import { theme } from './state/page/preferences';
import { openStory, replaceStory, shownStory } from './state/story';
import { OpenFile } from './views/share/Story';

const root = document.getElementById('app') as HTMLElement;

/** Files shown, by run. What the page cached is found by the run's id, which different files may share (the whole run, and a part). */
const shownFiles = new Map<string, string>();

async function show(story: StoryFile, file: string): Promise<void> {
  if ((shownFiles.get(story.run) ?? file) !== file)
    throw new StoryFileError(
      `This page has shown another file of run ${story.name}. Open the viewer in another tab, and drop the file there.`,
    );
  shownFiles.set(story.run, file);
  if (shownStory.peek() !== null) {
    replaceStory(story);
    return;
  }
  const provider = openStory(story);
  if (location.hash === '') history.replaceState(null, '', story.link || `#run=${encodeURIComponent(story.run)}`);
  render(null, root);
  await mount(root, Promise.resolve(provider));
}

function offer(error: string): void {
  document.documentElement.dataset.theme = theme.value;
  root.classList.add('mount');
  render(<OpenFile error={error} onFile={open} />, root);
}

async function open(file: File): Promise<void> {
  try {
    const story = await (/\.html?$/i.test(file.name) ? storyOfPage(await file.text()) : storyOfTapZip(file));
    await show(story, [file.name, file.size, file.lastModified].join());
  } catch (error) {
    if (shownStory.peek() === null) offer(messageOf(error));
    else window.alert(messageOf(error));
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) void open(file);
});

embeddedStory(document.getElementById('tensortap-story')?.textContent ?? '').then(
  (story) => (story === null ? offer('') : show(story, '')),
  (error) => offer(messageOf(error)),
);
