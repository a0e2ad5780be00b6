import { describe, expect, it } from 'vitest';
import type { Birth, Finding, NanReport } from './findings';
import { birthReason, birthTitle, groupBirths, groupFindings, mutes, withoutBirths } from './problem_page';

const finding = (rule: string, severity: Finding['severity'], first_step: number, tensor = 'a:0') =>
  ({ rule, severity, first_step, tensor, muted: false }) as Finding;

const birth = (fields: Partial<Birth>) =>
  ({
    node: 'loss/Log',
    op_type: 'Log',
    step: 25,
    verdict: 'born',
    demoted: '',
    missing: [],
    output: { nan: 0 },
    explanation: null,
    ...fields,
  }) as Birth;

const report = (previous: number | null, births: Birth[] = []) => ({ previous, births }) as unknown as NanReport;

describe('order of the findings', () => {
  it('puts the worst first, then what began last, and rules together', () => {
    const groups = groupFindings([
      finding('LargeLoss', 'medium', 9),
      finding('DeadRelu', 'high', 2),
      finding('AllZero', 'high', 5),
      finding('DeadRelu', 'high', 3, 'b:0'),
    ]);
    expect(groups.map((group) => [group.rule, group.findings.map((one) => one.first_step)])).toEqual([
      ['AllZero', [5]],
      ['DeadRelu', [3, 2]],
      ['LargeLoss', [9]],
    ]);
  });

  it('tells a cause before what began with it', () => {
    const groups = groupFindings([finding('DeadGradient', 'high', 0), finding('DeadRelu', 'high', 0)]);
    expect(groups.map((group) => group.rule)).toEqual(['DeadRelu', 'DeadGradient']);
  });

  it('leaves to the births what they tell better', () => {
    const findings = [finding('ExplodingTensor', 'high', 1), finding('DeadRelu', 'high', 1)];
    expect(withoutBirths(findings, report(null, [birth({})])).map((one) => one.rule)).toEqual(['DeadRelu']);
    expect(withoutBirths(findings, report(null))).toHaveLength(2);
  });

  it('mutes a rule, or a rule on one tensor', () => {
    expect(mutes(['DeadRelu'], finding('DeadRelu', 'high', 1))).toBe(true);
    expect(mutes(['DeadRelu: b:0'], finding('DeadRelu', 'high', 1))).toBe(false);
    expect(mutes(['DeadRelu: b:0'], finding('DeadRelu', 'high', 1, 'b:0'))).toBe(true);
  });
});

describe('what is said of a birth', () => {
  it('names kind, step and node', () => {
    expect(birthTitle(birth({}), report(24))).toBe('Infinity is born at step 25 in loss/Log');
  });

  it('does not call a birth what a variable brought along', () => {
    const carried = birth({ verdict: 'carried', output: { nan: 3 } as Birth['output'] });
    expect(birthTitle(carried, report(20))).toBe('NaN was in a variable when step 25 began: it arose after step 20');
    expect(birthTitle(carried, report(null))).toContain('it arose before it');
    expect(birthReason(carried)).toContain('only reads it');
  });

  it('says where a reason is not proven', () => {
    const explanation = { pattern: 'log of 0', text: 'log(0) = -inf.', help: '', certain: false };
    expect(birthReason(birth({ explanation }))).toBe('log(0) = -inf. (It fits, but is not proven.)');
  });

  it('writes out what is invisible in names', () => {
    expect(birthTitle(birth({ node: 'a\u202eb' }), report(1))).not.toContain('\u202e');
  });

  it('tells alike births together', () => {
    const groups = groupBirths([birth({ node: 'a' }), birth({ node: 'b' }), birth({ node: 'c', op_type: 'Exp' })]);
    expect(groups.map((group) => [group.first.node, group.others.length])).toEqual([
      ['a', 1],
      ['c', 0],
    ]);
  });
});
