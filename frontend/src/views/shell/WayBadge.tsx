import type { Way } from '../../model/wire/answers';
import { graphId, run } from '../../state/runs';

const TEXTS: Record<Exclude<Way, ''>, { text: string; title: string }> = {
  'in-place': {
    text: 'in place',
    title: 'Captured in the training step itself. With Tap(exact=True) a shadow is captured, and no bit of the step can change.',
  },
  shadow: {
    text: 'shadow',
    title: 'Captured in a shadow, which ran on copies of the state. The training step itself was left untouched.',
  },
};

/** How the graph on show was captured; nothing where the dump does not say. */
export function WayBadge() {
  const way = run.data.value?.graphs.find((graph) => graph.id === graphId.value)?.way;
  if (!way) return null;
  const { text, title } = TEXTS[way];
  return (
    <span class="chip way-badge" title={title} data-testid="way-badge">
      {text}
    </span>
  );
}
