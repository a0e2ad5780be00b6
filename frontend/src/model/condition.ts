/** Conditions on the numbers of a snapshot, as the server's `where` reads them: `nan > 0`, `zero / size > 0.9 and not max > 1`. */

import { COUNTS, type MeasureName, STATISTICS } from './statistics';

export type FieldName = MeasureName | 'size' | 'inf' | 'nonfinite';
export const FIELDS: readonly FieldName[] = ['size', ...COUNTS, 'inf', 'nonfinite', ...STATISTICS];

type Read = (field: FieldName) => number;
type Value = (read: Read) => number;
type Test = (read: Read) => boolean;

export interface Condition {
  /** Null where there is nothing to test, or nothing that can be read. */
  readonly test: Test | null;
  /** What is wrong with the text, in words for its author. */
  readonly error: string | null;
}

const TOKEN = /\s*(?:(<=|>=|==|!=|[<>=()+\-*/])|(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z_]\w*))/iy;

const COMPARISONS: Record<string, (a: number, b: number) => boolean> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

class ConditionError extends Error {}

export function parseCondition(text: string): Condition {
  if (text.trim() === '') return { test: null, error: null };
  try {
    const parser = new Parser(tokens(text));
    const test = parser.either();
    parser.end();
    return { test, error: null };
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { test: null, error: error.message };
  }
}

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new ConditionError(`cannot read "${text.slice(at).trim().slice(0, 20)}"`);
    found.push((match[1] ?? match[2] ?? match[3]) as string);
  }
  return found;
}

/** One method a level of precedence: or, and, not, comparison, sum, product, number. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  either(): Test {
    let left = this.both();
    while (this.take('or')) left = joined(left, this.both(), false);
    return left;
  }

  end(): void {
    const rest = this.tokens[this.at];
    if (rest !== undefined) throw new ConditionError(`unexpected "${rest}"; join conditions with "and" or "or"`);
  }

  private both(): Test {
    let left = this.negated();
    while (this.take('and')) left = joined(left, this.negated(), true);
    return left;
  }

  private negated(): Test {
    if (!this.take('not')) return this.comparison();
    const inner = this.negated();
    return (read) => !inner(read);
  }

  private comparison(): Test {
    const start = this.at;
    if (this.take('(')) {
      // A parenthesis may hold a condition or a number; which, its inside tells.
      try {
        const inner = this.either();
        this.need(')');
        return inner;
      } catch (error) {
        if (!(error instanceof ConditionError)) throw error;
        this.at = start;
      }
    }
    const left = this.sum();
    const compare = COMPARISONS[this.tokens[this.at] ?? ''];
    if (!compare) throw new ConditionError('a comparison is missing, as in nan > 0');
    this.at++;
    const right = this.sum();
    return (read) => compare(left(read), right(read));
  }

  private sum(): Value {
    let left = this.product();
    for (;;) {
      const [a, plus] = [left, this.take('+')];
      if (!plus && !this.take('-')) return left;
      const b = this.product();
      left = plus ? (read) => a(read) + b(read) : (read) => a(read) - b(read);
    }
  }

  private product(): Value {
    let left = this.number();
    for (;;) {
      const [a, times] = [left, this.take('*')];
      if (!times && !this.take('/')) return left;
      const b = this.number();
      left = times ? (read) => a(read) * b(read) : (read) => a(read) / b(read);
    }
  }

  private number(): Value {
    if (this.take('-')) {
      const inner = this.number();
      return (read) => -inner(read);
    }
    if (this.take('(')) {
      const inner = this.sum();
      this.need(')');
      return inner;
    }
    const token = this.tokens[this.at++];
    if (token === undefined) throw new ConditionError('a number is missing at the end');
    if (/^[\d.]/.test(token)) return () => Number(token);
    const field = FIELDS.find((name) => name === token.toLowerCase());
    if (!field) throw new ConditionError(`there is no number "${token}"; known are ${FIELDS.join(', ')}`);
    return (read) => read(field);
  }

  private take(token: string): boolean {
    if (this.tokens[this.at]?.toLowerCase() !== token) return false;
    this.at++;
    return true;
  }

  private need(token: string): void {
    if (!this.take(token)) throw new ConditionError(`"${token}" is missing`);
  }
}

function joined(left: Test, right: Test, both: boolean): Test {
  return both ? (read) => left(read) && right(read) : (read) => left(read) || right(read);
}
