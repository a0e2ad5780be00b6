import { useState } from 'preact/hooks';
import { visible } from '../../lib/visible_text';
import { shownStory } from '../../state/story';
import { IconButton } from '../kit/Button';
import { Icon } from '../kit/Icon';

/** Says that the page shows a story, when it was made and what it does not hold. */
export function StoryBanner() {
  const [hidden, setHidden] = useState<unknown>(null);
  const story = shownStory.value;
  if (story === null || hidden === story) return <div />;
  const made = new Date(1000 * story.made).toISOString().slice(0, 10);
  return (
    <aside class="story-banner" aria-label="Story" data-testid="story-banner">
      <Icon name="info" />
      <span>
        A story of <b>{visible(story.name)}</b>, recorded on {made}. No server is needed.
      </span>
      {story.left_out.length > 0 && (
        <details>
          <summary>Not included</summary>
          <ul>
            {story.left_out.map((sentence) => (
              <li key={sentence}>{visible(sentence)}</li>
            ))}
          </ul>
        </details>
      )}
      <span class="grow" />
      <IconButton small icon="close" label="Hide this note" onClick={() => setHidden(story)} />
    </aside>
  );
}
