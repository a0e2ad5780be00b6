import type { WatchChange } from '../../model/wire/events';

/** What was kept from which step on, and watch files that were refused. */
export function WatchList({ changes }: { changes: readonly WatchChange[] }) {
  return (
    <section class="event-section" aria-label="Watches" data-testid="watches">
      <h2>What was watched</h2>
      <ul class="watch-list">
        {changes.map((change, i) => (
          <li key={`${i} ${change.time}`}>
            <span class="num faint">{change.step === null ? 'from the start' : `from step ${change.step}`}</span>
            {change.error === null ? (
              <code>{change.text || 'nothing'}</code>
            ) : (
              <span class="event-refused">watch.json was not taken: {change.error}</span>
            )}
            <span class="faint">{change.fromProgram ? 'the program' : 'watch.json'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
