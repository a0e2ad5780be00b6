/** Conditions on snapshots, as the server's `where` reads them: checked here while they are typed, applied there. */

import { COUNTS, STATISTICS } from '../wire/statistics';

/** The numbers and the texts that a condition may name. */
const COUNT_FIELDS: readonly string[] = [...COUNTS, 'inf', 'nonfinite'];
export const CONDITION_FIELDS: readonly string[] = ['step', 'visit', 'size', ...COUNT_FIELDS, ...STATISTICS];
export const TEXT_FIELDS: readonly string[] = ['tensor', 'node', 'op', 'op_type', 'layer', 'dtype', 'device', 'worker', 'graph'];
/** Other names of them, as in tensortap/index/query/filter_parser.py. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['zeros', 'zero'],
  ['negatives', 'negative'],
  ['positives', 'positive'],
  ['subnormals', 'subnormal'],
  ['elements', 'size'],
  ['iteration', 'visit'],
  ['absmax', 'abs_max'],
  ['norm', 'l2'],
  ['l2_norm', 'l2'],
]);
/** Counts by the number of elements. */
const SHARES: readonly string[] = ['sparsity', 'zero_share', 'nan_share', 'inf_share'];

const TOKEN =
  /\s*(?:('[^']*'|"[^"]*")|((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*%|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+|[kmg])?(?![\w.]))|([a-z_]\w*)|(<=|>=|==|!=|!~|[<>=~()+\-*/]))/iy;
const COMPARISONS = ['<', '<=', '>', '>=', '=', '==', '!='];
const TEXT_COMPARISONS = ['=', '==', '!=', '~', '!~'];

class ConditionError extends Error {}

/** What is wrong with a condition, in words for its author; null where nothing is. An empty one is none. */
export function conditionError(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    const parser = new Parser(tokens(text));
    parser.either();
    parser.end();
    return null;
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return error.message;
  }
}

/** What a condition goes on with: each the whole text, its last word completed. None where that is complete. */
export function completions(text: string): string[] {
  const [, before = '', word = ''] = /^(.*?)([a-z_]\w*)?$/is.exec(text) ?? [];
  if (word === '' && text.trim() !== '' && !/(?:[(]|\b(?:and|or|not))\s*$/i.test(text)) return [];
  const found = COMPLETIONS.filter((one) => one.toLowerCase().startsWith(word.toLowerCase()) && one !== word);
  return found.map((one) => before + one);
}

/** Whether a condition is, or is joined by `and` with, another one. */
export const withTerm = (condition: string, term: string): boolean => condition === term || condition.split(' and ').includes(term);

/** Joins a condition with another one by `and`, or takes it out again. */
export function toggleTerm(condition: string, term: string): string {
  const rest = condition.trim();
  if (rest === '') return term;
  if (!withTerm(rest, term)) return `${/\bor\b/i.test(rest) ? `(${rest})` : rest} and ${term}`;
  return rest
    .split(' and ')
    .filter((one) => one !== term)
    .join(' and ');
}

const COMPLETIONS: readonly string[] = [
  'NaN',
  'Inf',
  'nonfinite',
  'zeros > 90%',
  'sparsity > 0.9',
  ...[...CONDITION_FIELDS, ...SHARES].map((field) => `${field} > `),
  ...TEXT_FIELDS.map((field) => `${field} ~ '`),
];

interface Token {
  readonly kind: 'text' | 'number' | 'word' | 'sign';
  readonly text: string;
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new ConditionError(`Unexpected “${text.slice(at).trim().slice(0, 20)}” in the condition.`);
    const [, quoted, number, word, sign] = match;
    if (quoted !== undefined) found.push({ kind: 'text', text: quoted });
    else if (number !== undefined) found.push({ kind: 'number', text: number });
    else if (word !== undefined) found.push({ kind: 'word', text: word.toLowerCase() });
    else found.push({ kind: 'sign', text: sign as string });
  }
  return found;
}

/** What a number is, as far as its meaning depends on it: a count alone, or a plain fraction. */
interface Numeric {
  readonly count?: string;
  readonly fraction?: number;
}

const OTHER: Numeric = {};

/** One method a level of precedence: or, and, not, comparison, sum, product, number. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  either(): void {
    do this.both();
    while (this.take('or'));
  }

  end(): void {
    if (this.next !== undefined) this.refuse();
  }

  private get next(): Token | undefined {
    return this.tokens[this.at];
  }

  private refuse(): never {
    if (this.next === undefined) throw new ConditionError('Incomplete: something is missing at the end.');
    throw new ConditionError(`Unexpected “${this.next.text.slice(0, 40)}”. Join conditions with “and” or “or”.`);
  }

  private both(): void {
    do this.negated();
    while (this.take('and'));
  }

  private negated(): void {
    if (this.take('not')) this.negated();
    else this.comparison();
  }

  private comparison(): void {
    if (this.next?.kind === 'word' && TEXT_FIELDS.includes(this.next.text)) this.textComparison();
    else if (this.next?.text === '(' && this.groupsACondition()) {
      this.take('(');
      this.either();
      this.need(')');
    } else this.numberComparison();
  }

  /** Whether the parenthesis that opens here holds a condition, or a number's sum. */
  private groupsACondition(): boolean {
    let depth = 0;
    for (const { kind, text } of this.tokens.slice(this.at)) {
      if (kind === 'sign') {
        depth += text === '(' ? 1 : text === ')' ? -1 : 0;
        if (COMPARISONS.includes(text) || text.includes('~')) return true;
      } else if (kind === 'word' && ['and', 'or', 'not'].includes(text)) return true;
      if (depth === 0) return false;
    }
    return false;
  }

  private numberComparison(): void {
    const left = this.sum();
    const { next } = this;
    if (next?.kind !== 'sign' || !COMPARISONS.includes(next.text)) {
      if (left.count !== undefined && (next === undefined || ['and', 'or', ')'].includes(next.text))) return;
      if (next === undefined || next.kind === 'sign') throw new ConditionError('Incomplete: add a comparison, e.g. nan > 0.');
      this.refuse();
    }
    this.at++;
    const right = this.namedNumber() ?? this.sum();
    refuseFraction(left, right);
    refuseFraction(right, left);
  }

  /** `inf` or `nan` on the right of a comparison, where a count would make no sense. */
  private namedNumber(): Numeric | null {
    const start = this.at;
    this.take('-');
    if (this.take('inf') || this.take('infinity') || this.take('nan')) return OTHER;
    this.at = start;
    return null;
  }

  private textComparison(): void {
    const [field, sign, text] = this.tokens.slice(this.at, this.at + 3);
    if (sign?.kind !== 'sign' || !TEXT_COMPARISONS.includes(sign.text) || text?.kind !== 'text')
      throw new ConditionError(`Put text in quotes: ${field?.text} == 'Relu'.`);
    this.at += 3;
  }

  private sum(): Numeric {
    let found = this.product();
    while (this.take('+') || this.take('-')) {
      this.product();
      found = OTHER;
    }
    return found;
  }

  private product(): Numeric {
    let found = this.number();
    while (this.take('*') || this.take('/')) {
      this.number();
      found = OTHER;
    }
    return found;
  }

  private number(): Numeric {
    if (this.take('-')) {
      this.number();
      return OTHER;
    }
    if (this.take('(')) {
      const found = this.sum();
      this.need(')');
      return found;
    }
    const { next } = this;
    if (next === undefined || next.kind === 'text' || next.kind === 'sign' || ['and', 'or', 'not'].includes(next.text)) this.refuse();
    this.at++;
    return next.kind === 'number' ? plainNumber(next.text) : field(next.text);
  }

  private take(text: string): boolean {
    const { next } = this;
    if (next === undefined || (next.kind !== 'sign' && next.kind !== 'word') || next.text !== text) return false;
    this.at++;
    return true;
  }

  private need(text: string): void {
    if (!this.take(text)) this.refuse();
  }
}

/** Percent are shares, and other units more than a fraction. */
function plainNumber(text: string): Numeric {
  const value = Number(text);
  return value > 0 && value < 1 ? { fraction: value } : OTHER;
}

function field(word: string): Numeric {
  if (SHARES.includes(word)) return OTHER;
  const name = ALIASES.get(word) ?? word;
  if (COUNT_FIELDS.includes(name)) return { count: name };
  if (CONDITION_FIELDS.includes(name)) return OTHER;
  const near = nearest(word, [...CONDITION_FIELDS, ...ALIASES.keys(), ...SHARES]);
  throw new ConditionError(`Unknown field “${word.slice(0, 40)}”.${near === null ? '' : ` Did you mean ${near}?`}`);
}

/** A count compared with a fraction: `zero > 0.9` would be true from one zero on. */
function refuseFraction({ count }: Numeric, { fraction }: Numeric): void {
  if (count === undefined || fraction === undefined) return;
  const share = `${count} > ${Number((100 * fraction).toPrecision(6))}%`;
  throw new ConditionError(`“${count}” counts elements, and ${fraction} is a fraction. For a share write ${share}.`);
}

/** The known word with the fewest letters to change, of those that are near enough. */
function nearest(word: string, known: readonly string[]): string | null {
  const allowed = Math.max(1, Math.floor(word.length / 3));
  const ranked = known.map((one) => ({ one, distance: editDistance(word, one) })).sort((a, b) => a.distance - b.distance);
  return ranked[0] && ranked[0].distance <= allowed ? ranked[0].one : null;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
