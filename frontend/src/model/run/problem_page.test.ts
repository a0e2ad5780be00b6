import { describe, expect, it } from 'vitest';
import type { NonfiniteProblem } from '../wire/answers';
import type { Finding, NanReport, Origin } from '../wire/findings';
import { groupFindings, groupOrigins, isIntended, mutes, originsFirst, pageHead, withoutOrigins } from './problem_page';

const finding = (rule: string, severity: Finding['severity'], first_step: number, tensor = 'a:0') =>
  ({ rule, severity, first_step, tensor, muted: false }) as Finding;

const origin = (fields: Partial<Origin>) =>
  ({
    node: 'loss/Log',
    op_type: 'Log',
    step: 25,
    verdict: 'origin',
    demoted: '',
    missing: [],
    output: { nan: 0 },
    explanation: null,
    ...fields,
  }) as Origin;

const report = (previous: number | null, origins: Origin[] = []) => ({ previous, origins }) as unknown as NanReport;

describe('order of the findings', () => {
  it('is the one they come in, rules together', () => {
    const groups = groupFindings([
      finding('AllZero', 'high', 5),
      finding('DeadRelu', 'high', 3, 'b:0'),
      finding('LargeLoss', 'high', 3),
      finding('DeadRelu', 'high', 2),
      finding('DeadRelu', 'medium', 9),
    ]);
    expect(groups.map((group) => [group.rule, group.findings.map((one) => one.first_step)])).toEqual([
      ['AllZero', [5]],
      ['DeadRelu', [3, 2]],
      ['LargeLoss', [3]],
      ['DeadRelu', [9]],
    ]);
  });

  it('leaves to the origins what they tell better', () => {
    const findings = [finding('ExplodingTensor', 'high', 1), finding('DeadRelu', 'high', 1)];
    expect(withoutOrigins(findings, report(null, [origin({})])).map((one) => one.rule)).toEqual(['DeadRelu']);
    expect(withoutOrigins(findings, report(null))).toHaveLength(2);
  });

  it('mutes a rule, or a rule on one tensor', () => {
    expect(mutes(['DeadRelu'], finding('DeadRelu', 'high', 1))).toBe(true);
    expect(mutes(['DeadRelu: b:0'], finding('DeadRelu', 'high', 1))).toBe(false);
    expect(mutes(['DeadRelu: b:0'], finding('DeadRelu', 'high', 1, 'b:0'))).toBe(true);
  });
});

it('groups alike origins', () => {
  const groups = groupOrigins([origin({ node: 'a' }), origin({ node: 'b' }), origin({ node: 'c', op_type: 'Exp' })]);
  expect(groups.map((group) => [group.first.node, group.others.length])).toEqual([
    ['a', 1],
    ['c', 0],
  ]);
});

describe('what is intended', () => {
  const problem = (tensor: string, first_step: number) => ({ tensor, graph: 'g', first_step }) as NonfiniteProblem;
  const told = (origins: string[], demoted: string[]) =>
    ({
      step: 5,
      graph: 'g',
      origins: origins.map((tensor) => origin({ tensor, graph: 'g' })),
      demoted: demoted.map((tensor) => origin({ tensor, graph: 'g' })),
      chain: origins.map((tensor) => ({ tensor })),
    }) as unknown as NanReport;

  it('is unknown before the origins are', () => {
    expect(isIntended(problem('mask:0', 0), null)).toBe(false);
  });

  it('is everything where no origin matters', () => {
    expect(isIntended(problem('scores:0', 7), told([], ['mask:0']))).toBe(true);
  });

  it('is what was there before the first origin that matters, and what is expected beside it', () => {
    const report = told(['log:0'], ['mask:0']);
    expect(isIntended(problem('mask:0', 5), report)).toBe(true);
    expect(isIntended(problem('scores:0', 2), report)).toBe(true);
    expect(isIntended(problem('loss:0', 5), report)).toBe(false);
    expect(isIntended(problem('log:0', 2), report)).toBe(false);
  });
});

describe('what the page says of origins', () => {
  const counts = (high: number, medium: number, low: number) => ({ high, medium, low });

  it('is that a run is broken only by what does not become finite again, and since when', () => {
    const heals = origin({ aftermath: 'It becomes finite again.' });
    expect([pageHead([origin({})], counts(0, 0, 1)), pageHead([heals, origin({ step: 31 })], counts(1, 0, 0))]).toEqual([
      'NaN/Inf broke this run at step 25',
      'NaN/Inf broke this run at step 31',
    ]);
    expect(pageHead([heals], counts(0, 2, 0))).toBe('NaN/Inf occur but do not reach the loss or weights');
  });

  it('is else how many findings of the worst severity there are', () => {
    expect([pageHead([], counts(2, 1, 12)), pageHead([], counts(0, 1, 12)), pageHead([], counts(0, 0, 12))]).toEqual([
      '2 high-severity findings',
      '1 medium-severity finding',
      '12 low-severity findings',
    ]);
  });
});

it('origins head the tensors, in the order of the origins', () => {
  const [sub, log, exp, out] = ['sub:0', 'log:0', 'exp:0', 'out:0'].map((tensor) => ({ graph: 'g', tensor }) as NonfiniteProblem);
  const told = report(null, [origin({ graph: 'g', tensor: 'exp:0' }), origin({ graph: 'g', tensor: 'log:0' })]);
  expect(originsFirst([sub!, log!, exp!, out!], told)).toEqual([exp, log, sub, out]);
  expect(originsFirst([sub!, log!], null)).toEqual([sub, log]);
});
