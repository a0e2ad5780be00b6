/**
 * Manual pairs of nodes of two runs, as `tensortap diff --matches` reads and writes them
 * (tensortap/analysis/compare/comparison_files.py).
 */

/** Node in A -> node in B. */
export type Pairs = Readonly<Record<string, string>>;

const VERSION = 1;
/** Maximum pairs in an address; more need a file. */
const MOST_TEXT = 4096;

/** Pairs two nodes; previous manual partners of either are removed. */
export function withPair(pairs: Pairs, a: string, b: string): Pairs {
  const others = Object.entries(pairs).filter(([left, right]) => left !== a && right !== b);
  return Object.fromEntries([...others, [a, b]]);
}

export function withoutPair(pairs: Pairs, a: string): Pairs {
  return Object.fromEntries(Object.entries(pairs).filter(([left]) => left !== a));
}

/** The pairs as in the address of a comparison; null for none, or too many. */
export function matchText(pairs: Pairs): string | null {
  const text = Object.entries(pairs)
    .map(([a, b]) => `${a}=${b}`)
    .join('\n');
  return text === '' || text.length > MOST_TEXT ? null : text;
}

/** Whether there are more pairs than a request can hold. */
export function tooMany(pairs: Pairs): boolean {
  return Object.keys(pairs).length > 0 && matchText(pairs) === null;
}

export function matchesFile(pairs: Pairs): string {
  return `${JSON.stringify({ tensortap_matches: VERSION, nodes: pairs }, null, 1)}\n`;
}

/** The pairs of a file; for an invalid one, an error that says what is wrong. */
export function parseMatches(text: string): Pairs {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error('The file is not valid JSON.');
  }
  const { tensortap_matches, nodes } = (typeof found === 'object' && found !== null ? found : {}) as Record<string, unknown>;
  if (tensortap_matches !== VERSION)
    throw new Error('The file has no matches. It must look like {"tensortap_matches": 1, "nodes": {"node in A": "node in B"}}.');
  const pairs = pairsOf(nodes);
  if (pairs === null) throw new Error('The "nodes" of the file must map nodes of A to nodes of B.');
  return pairs;
}

/** Pairs from storage; null if they are invalid. */
export function pairsOf(stored: unknown): Pairs | null {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return null;
  return Object.values(stored).every((node) => typeof node === 'string') ? (stored as Pairs) : null;
}

/** The node of B compared with a node of A: paired manually, by the server, or by name; null if there is none. */
export function partnerOf(node: string, hand: Pairs, found: Pairs, inB: (name: string) => boolean): string | null {
  const partner = hand[node] ?? found[node] ?? node;
  return inB(partner) ? partner : null;
}
