/** What the palette lists for a text: groups of choices, those that fit best first. */

import { fuzzyTerms } from '../../model/fuzzy';
import { findFuzzy, type Match } from '../../model/fuzzy_find';
import { recentChoices } from '../../state/preferences';
import { searchFor } from '../graph/go';
import type { Choice, Source } from './sources';

export interface Listed extends Choice {
  /** The source's group, which a row of `Recent` keeps. */
  readonly of: string;
}

export interface Group {
  readonly title: string;
  readonly choices: readonly Listed[];
}

const MOST_RECENT = 6;
/** Commands are few and meant for this; names of nodes are many. */
const COMMAND_BONUS = 6;
/** What fits that much worse than the best is noise. */
const WORTH = 0.55;

/** Null once `signal` is aborted. */
export async function findChoices(text: string, sources: readonly Source[], signal: AbortSignal): Promise<readonly Group[] | null> {
  const terms = fuzzyTerms(text);
  if (terms.length === 0) return atFirst(sources);
  const found: { source: Source; matches: readonly Match[] }[] = [];
  for (const source of sources) {
    const matches = await findFuzzy(source.texts, terms, source.most, signal);
    if (matches === null) return null;
    if (matches.length > 0) found.push({ source, matches });
  }
  const points = (one: (typeof found)[number]) => one.matches[0]!.score + (one.source.group === 'Commands' ? COMMAND_BONUS : 0);
  const best = Math.max(...found.map(points), 0);
  const groups = found
    .sort((a, b) => points(b) - points(a))
    .map(({ source, matches }) => ({
      title: source.group,
      choices: matches.filter(({ score }) => score >= WORTH * best).map(({ row }) => ({ ...source.choice(row), of: source.group })),
    }));
  return [...groups.filter(({ choices }) => choices.length > 0), inGraph(text.trim())];
}

/** Without a text: what was chosen last, then all commands. */
function atFirst(sources: readonly Source[]): Group[] {
  const recent = recentChoices.value.flatMap(([of, text]): Listed[] => {
    const source = sources.find(({ group }) => group === of);
    const row = source?.rowOf(text) ?? -1;
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
  choices: [{ text: `Search the graph for “${text}”`, of: 'Search', key: '/', run: () => searchFor(text) }],
});
