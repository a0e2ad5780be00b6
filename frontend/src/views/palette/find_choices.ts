/** The palette's list for a text: groups of choices, best matches first. */

import { findFuzzy, fuzzyTerms, LETTER } from '../../model/search/fuzzy';
import { recentChoices } from '../../state/page/preferences';
import { searchFor } from '../graph/canvas/navigation';
import type { Choice, Source } from './choice_sources';

export interface Listed extends Choice {
  /** The source's group, also for rows of `Recent`. */
  readonly of: string;
}

export interface Group {
  readonly title: string;
  readonly choices: readonly Listed[];
  /** Why there are none. */
  readonly note?: string;
}

const MOST_RECENT = 6;
/** Commands get a bonus: they are few, names of nodes are many. */
const COMMAND_BONUS = 6;
/** Matches this much worse than the best, or with fewer points per letter, are noise. */
const WORTH = 0.65;
const LEAST_A_LETTER = 0.75 * LETTER;

interface Scored {
  readonly choice: Listed;
  readonly score: number;
}

/** Null once `signal` is aborted. */
export async function findChoices(text: string, sources: readonly Source[], signal: AbortSignal): Promise<readonly Group[] | null> {
  const terms = fuzzyTerms(text);
  if (terms.length === 0) return atFirst(sources);
  const found: { title: string; rows: Scored[] }[] = [];
  for (const source of sources) {
    const rows = await inSource(source, text.trim(), terms, signal);
    if (rows === null) return null;
    found.push({ title: source.group, rows });
  }
  const points = ({ rows }: { rows: readonly Scored[] }) => rows[0]?.score ?? 0;
  const best = Math.max(...found.map(points));
  const letters = terms.reduce((sum, term) => sum + term.length, 0);
  const least = Math.max(WORTH * best, LEAST_A_LETTER * letters);
  const groups = found
    .sort((a, b) => points(b) - points(a))
    .map(({ title, rows }) => ({ title, choices: rows.filter(({ score }) => score >= least).map(({ choice }) => choice) }));
  const notes = sources.flatMap(({ group, lacks }) => {
    const note = lacks?.(text);
    return note ? [{ title: group, choices: [], note }] : [];
  });
  return [...groups.filter(({ choices }) => choices.length > 0), ...notes, inGraph(text.trim())];
}

/** The rows of one source, the best first; explicit ones before all. */
async function inSource(source: Source, text: string, terms: readonly string[], signal: AbortSignal): Promise<Scored[] | null> {
  const matches = await findFuzzy(source.texts, terms, source.most, signal, source.penalty);
  if (matches === null) return null;
  const bonus = source.group === 'Commands' ? COMMAND_BONUS : 0;
  const listed = (choice: Choice, score: number): Scored => ({ choice: { ...choice, of: source.group }, score });
  const rows = matches.map(({ row, score }) => listed(source.choice(row), score + bonus));
  const asked = source.asked?.(text);
  if (!asked) return rows;
  const most = Math.max(2 * LETTER * text.length, (rows[0]?.score ?? 0) + 1);
  return [listed(asked, most), ...rows.filter(({ choice }) => choice.text !== asked.text)];
}

/** Without a text: recent choices, then all commands. */
function atFirst(sources: readonly Source[]): Group[] {
  const recent = recentChoices.value.flatMap(([of, id]): Listed[] => {
    const source = sources.find(({ group }) => group === of);
    const row = source?.rowOf(id) ?? -1;
    return source && row >= 0 ? [{ ...source.choice(row), of }] : [];
  });
  const commands = sources[0]!;
  const all = Array.from({ length: commands.texts.length }, (_, row) => ({ ...commands.choice(row), of: commands.group }));
  const groups = [
    { title: 'Recent', choices: recent.slice(0, MOST_RECENT) },
    { title: 'Commands', choices: all },
  ];
  return groups.filter(({ choices }) => choices.length > 0);
}

const inGraph = (text: string): Group => ({
  title: 'Search',
  choices: [{ text: `Search the graph for "${text}"`, of: 'Search', key: '/', run: () => searchFor(text) }],
});
