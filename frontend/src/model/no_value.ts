import type { NoValueReason, Snapshot } from './answers';

export interface NoValueWords {
  title: string;
  text: string;
}

/** Those of the command line. */
const WORDS: Record<Exclude<NoValueReason, 'summary'>, NoValueWords> = {
  source: { title: 'The value was not kept', text: 'The source of the import holds no value of it.' },
  pruned: {
    title: 'The value was pruned',
    text: 'It was removed to save space; keep_last, max_bytes and tensortap prune say how much is kept.',
  },
  refused: {
    title: 'The value was lost',
    text: 'The disk refused it when it was written, as a full one does; make room before it is captured again.',
  },
  damaged: {
    title: 'The value was lost',
    text: 'It was missing or damaged when the run was repaired; the run as it was before the repair says what was wrong.',
  },
};

/** What to say of a value that is not there; null where it was never asked for, and can be. */
export function noValueWords(row: Snapshot): NoValueWords | null {
  const reason = row.no_value || (row.pruned ? 'pruned' : 'summary');
  return reason === 'summary' ? null : (WORDS[reason] ?? null);
}
