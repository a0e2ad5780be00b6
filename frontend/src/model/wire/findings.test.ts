import { expect, test } from 'vitest';
import { comparedPairs, evidenceTexts, hasNews, type LedgerEntry, ledgerHeading, zeroAt } from './findings';

function entry(change: Partial<LedgerEntry>): LedgerEntry {
  const nothing = { variable: 'v', tensor: 'v:0', graph: 'g', layer: 'l', first_zero_step: null, zero_share: 0, why: '', begins: '' };
  return { ...nothing, steps: 4, zero_steps: 0, reason: '', absorbed: null, absorbed_steps: 0, absorbed_of: 0, ...change };
}

const DEAD = entry({ reason: 'dead activation', zero_steps: 4 });
const FROZEN = entry({ reason: 'disconnected' });
const CUT_OFF = entry({ reason: 'disconnected', zero_steps: 4 }); // connected, but only zeros arrive
const LOST = entry({ absorbed: 0.5 });

test('variables without a gradient are counted apart from dead layers', () => {
  expect(ledgerHeading([DEAD, CUT_OFF, LOST])).toBe('Zero gradients or lost updates: 3 variables');
  expect(ledgerHeading([DEAD, FROZEN, FROZEN])).toBe('Zero gradients or lost updates: 1 variable; 2 without a gradient');
  expect(ledgerHeading([FROZEN])).toBe('1 variable without a gradient');
});

test('a gradient that is not there is never said to be zero at no step', () => {
  expect([DEAD, FROZEN, CUT_OFF, LOST].map(zeroAt)).toEqual(['4 of 4 steps', 'no gradient', '4 of 4 steps', 'never']);
});

test('a share of lost updates says of how many pairs of steps it is, unless it is of all', () => {
  const some = entry({ absorbed: 0.5, absorbed_steps: 32, absorbed_of: 1500 });
  expect(comparedPairs(some)).toBe('of 32 of 1,500 pairs of steps');
  expect(comparedPairs(entry({ absorbed: 0.5, absorbed_steps: 11, absorbed_of: 11 }))).toBe('');
});

test('a share of lost updates that is shown as 0 % is no news', () => {
  expect([DEAD, FROZEN, LOST].map(hasNews)).toEqual([true, true, true]);
  expect([null, 0, 0.0008, 0.005].map((absorbed) => hasNews(entry({ absorbed })))).toEqual([false, false, false, false]);
});

test('evidence has three digits, and enough to differ from its threshold', () => {
  const texts = (value: number | string, limit: number | null) => evidenceTexts({ step: 0, name: 'x', value, limit });
  expect(texts(0.0123456, 0.01)).toEqual({ value: '0.0123', threshold: '0.01' });
  expect(texts(1.00009, 1)).toEqual({ value: '1.00009', threshold: '1' });
  expect(texts('Infinity', null)).toEqual({ value: '+Inf', threshold: null });
  const zeros = { step: 0, name: '% zeros' };
  expect(evidenceTexts({ ...zeros, value: 1, limit: 1 })).toEqual({ value: '100 %', threshold: '100 %' });
  expect(evidenceTexts({ ...zeros, value: 0.955, limit: 0.9 })).toEqual({ value: '95.5 %', threshold: '90 %' });
});
