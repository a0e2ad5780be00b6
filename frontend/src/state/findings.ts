import { computed } from '@preact/signals';
import { api } from './provider';
import { resource } from './resource';
import { runEntry, runId, runRevision } from './runs';

const ASK_AGAIN_MS = 700;

const request = computed(() => {
  const id = runId.value;
  if (id === null || runEntry.value === null) return null;
  return { key: `${id} ${runRevision.value}`, subject: id, id };
});

/** Asks until the server's thread is through with the run. */
async function settled<T extends { working: boolean }>(ask: () => Promise<T>, abort: AbortSignal): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (!answer.working || abort.aborted) return answer;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

/** What rules found in the run, the worst first. */
export const findings = resource(request, ({ id }, abort) => settled(() => api().findings(id, abort), abort));

/** Where NaN and infinities were born, at the first step at which some were. */
export const births = resource(request, ({ id }, abort) => settled(() => api().nan(id, abort), abort));
