/** Answers of `replay/<run>/test` (server/http_api.md): a recorded step's logic, tested. */

export const LOGIC_TESTS = ['batch', 'causal', 'padding', 'gradient', 'determinism', 'sensitivity'] as const;
export type LogicTest = (typeof LOGIC_TESTS)[number];

/** What each one asks. */
export const TEST_QUESTIONS: Readonly<Record<LogicTest, string>> = {
  batch: 'Does one sample change the numbers of another?',
  causal: 'Does the second half of a sequence change what comes before it?',
  padding: 'Does what stands at padded positions change the others?',
  gradient: 'Is each gradient the derivative of the loss, in float64?',
  determinism: 'Is every bit of every tensor the same in five runs?',
  sensitivity: 'How far does the loss move when a variable or an input does?',
};

export interface LogicResult {
  passed: boolean;
  summary: string;
  columns: string[];
  /** A list each, of what the columns name; the most telling first. */
  rows: (string | number | null)[][];
  rows_total: number;
}

const WORDS: Readonly<Record<string, string>> = { op_type: 'op type' };

/** A column's name for people. */
export const columnTitle = (column: string): string => WORDS[column] ?? column;

/** Whether a column names tensors. */
export const isTensorColumn = (column: string): boolean => column === 'tensor' || column === 'gradient';

/** How many columns at the front name what is tested, so that at least one is left for what was found. */
export function nameColumns(columns: readonly string[]): number {
  const other = columns.findIndex((column, at) => at > 0 && !isTensorColumn(column));
  return other < 0 ? columns.length - 1 : other;
}

/** `file:line  text` without the file's folders, for which a column has no room. */
export const shortLine = (text: string): string => text.replace(/^.*?([^/]*:\d+ {2})/, '$1');
