/** Helps to write conditions on snapshots; the server parses them (tensortap/index/query/filter_parser.py) and reports errors. */

import { COUNTS, STATISTICS } from '../wire/statistics';

/** Numbers and texts that a condition may use. */
const COUNT_FIELDS: readonly string[] = [...COUNTS, 'inf', 'nonfinite'];
export const CONDITION_FIELDS: readonly string[] = ['step', 'visit', 'size', ...COUNT_FIELDS, ...STATISTICS];
export const TEXT_FIELDS: readonly string[] = ['tensor', 'node', 'op', 'op_type', 'layer', 'dtype', 'device', 'worker', 'graph'];
/** Counts that may be given as a share of the elements. */
const SHARES: readonly string[] = ['sparsity', 'zero_share', 'nan_share', 'inf_share'];

/** Completions of a condition: whole texts with the last word completed. None if it is complete. */
export function completions(text: string): string[] {
  const [, before = '', word = ''] = /^(.*?)([a-z_]\w*)?$/is.exec(text) ?? [];
  if (word === '' && text.trim() !== '' && !/(?:[(]|\b(?:and|or|not))\s*$/i.test(text)) return [];
  const found = COMPLETIONS.filter((one) => one.toLowerCase().startsWith(word.toLowerCase()) && one !== word);
  return found.map((one) => before + one);
}

/** Whether a condition equals another one, or has it as an `and` term. */
export const withTerm = (condition: string, term: string): boolean => condition === term || condition.split(' and ').includes(term);

/** Adds a condition as an `and` term, or removes it. */
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
