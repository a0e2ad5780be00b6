/** Conditions on snapshots, as the server's `where` reads them: checked here while they are typed, applied there. */

import { COUNTS, STATISTICS } from '../wire/statistics';

/** The numbers and the texts that a condition may name. */
export const CONDITION_FIELDS: readonly string[] = ['step', 'visit', 'size', ...COUNTS, 'inf', 'nonfinite', ...STATISTICS];
export const TEXT_FIELDS: readonly string[] = ['tensor', 'node', 'op', 'op_type', 'layer', 'dtype', 'device', 'worker', 'graph'];

const TOKEN = /\s*(?:('[^']*'|"[^"]*")|(<=|>=|==|!=|!~|[<>=~()+\-*/])|((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w.]))|([a-z_]\w*))/iy;
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

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new ConditionError(`cannot read "${text.slice(at).trim().slice(0, 20)}"`);
    found.push((match[1] ?? match[2] ?? match[3] ?? match[4]) as string);
  }
  return found;
}

/** One method a level of precedence: or, and, not, comparison, sum, product, number. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  either(): void {
    do this.both();
    while (this.take('or'));
  }

  end(): void {
    const rest = this.tokens[this.at];
    if (rest !== undefined) throw new ConditionError(`unexpected "${rest}"; join conditions with "and" or "or"`);
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
    const start = this.at;
    if (this.take('(')) {
      // A parenthesis may hold a condition or a number; which, its inside tells.
      try {
        this.either();
        this.need(')');
        return;
      } catch (error) {
        if (!(error instanceof ConditionError)) throw error;
        this.at = start;
      }
    }
    if (TEXT_FIELDS.includes(this.tokens[this.at] ?? '')) this.textComparison();
    else this.numberComparison();
  }

  private numberComparison(): void {
    this.sum();
    if (!COMPARISONS.includes(this.tokens[this.at] ?? '')) throw new ConditionError('Incomplete: add a comparison, e.g. nan > 0');
    this.at++;
    this.sum();
  }

  private textComparison(): void {
    const [field, sign, text] = this.tokens.slice(this.at, this.at + 3);
    if (!TEXT_COMPARISONS.includes(sign ?? '') || !/^['"]/.test(text ?? ''))
      throw new ConditionError(`${field} is compared with a text in quotes, as in ${field} == 'Relu'`);
    this.at += 3;
  }

  private sum(): void {
    do this.product();
    while (this.take('+') || this.take('-'));
  }

  private product(): void {
    do this.number();
    while (this.take('*') || this.take('/'));
  }

  private number(): void {
    if (this.take('-')) this.number();
    else if (this.take('(')) {
      this.sum();
      this.need(')');
    } else this.named(this.tokens[this.at++]);
  }

  private named(token: string | undefined): void {
    if (token === undefined) throw new ConditionError('a number is missing at the end');
    if (!/^[\d.]/.test(token) && !CONDITION_FIELDS.includes(token))
      throw new ConditionError(`there is no number "${token}"; known are ${CONDITION_FIELDS.join(', ')}`);
  }

  private take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private need(token: string): void {
    if (!this.take(token)) throw new ConditionError(`"${token}" is missing`);
  }
}
