/** Helps to write conditions on snapshots; the server reads them (tensortap/index/query/filter_parser.py) and says what is wrong. */

import { COUNTS, STATISTICS } from '../wire/statistics';

/** The numbers and the texts that a condition may name. */
const COUNT_FIELDS: readonly string[] = [...COUNTS, 'inf', 'nonfinite'];
export const CONDITION_FIELDS: readonly string[] = ['step', 'visit', 'size', ...COUNT_FIELDS, ...STATISTICS];
export const TEXT_FIELDS: readonly string[] = ['tensor', 'node', 'op', 'op_type', 'layer', 'dtype', 'device', 'worker', 'graph'];
/** Counts by the number of elements. */
const SHARES: readonly string[] = ['sparsity', 'zero_share', 'nan_share', 'inf_share'];

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
