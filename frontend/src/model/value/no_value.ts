import type { NoValueReason, Snapshot } from '../wire/answers';

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

/** Of two values that are compared: why they are not both there, and what would tell more. */
export function valuesMissing(a: NoValueReason | '' | undefined, b: NoValueReason | '' | undefined): string {
  const sides = [
    { name: 'A', reason: a || null },
    { name: 'B', reason: b || null },
  ];
  const told = sides.flatMap(({ name, reason }) =>
    reason === null || reason === 'summary' ? [] : [`${name}: ${WORDS[reason].title}. ${WORDS[reason].text}`],
  );
  const asked = sides.filter(({ reason }) => reason === 'summary').map(({ name }) => name);
  if (asked.length === 2) told.push('The values were not kept: Watch(keep="value") in both runs shows them.');
  else if (asked[0] !== undefined) told.push(`${asked[0]}: The value was not kept. Watch(keep="value") keeps it.`);
  return told.join(' ') || 'Values above 64 MiB, and those that cannot be read, are compared by their summaries.';
}

/** What to say of a value that is not there; null where it was never asked for, and can be. */
export function noValueWords(row: Snapshot): NoValueWords | null {
  const reason = row.no_value || (row.pruned ? 'pruned' : 'summary');
  return reason === 'summary' ? null : (WORDS[reason] ?? null);
}
