import { expect, test } from 'vitest';
import { matchesFile, matchText, parseMatches, partnerOf, tooMany, withoutPair, withPair } from './manual_matches';

test('a node has one partner: a later pair takes the place of those that it contradicts', () => {
  const pairs = withPair(withPair({ a: 'x', b: 'y' }, 'a', 'z'), 'c', 'y');
  expect(pairs).toEqual({ a: 'z', c: 'y' });
  expect(withoutPair(pairs, 'a')).toEqual({ c: 'y' });
});

test('a file of the page is read again, and anything else is refused with a sentence', () => {
  const pairs = { 'old/MatMul': 'new/MatMul' };
  expect(parseMatches(matchesFile(pairs))).toEqual(pairs);
  expect(() => parseMatches('{')).toThrow('not valid JSON');
  expect(() => parseMatches('[]')).toThrow('has no matches');
  expect(() => parseMatches('{"tensortap_matches": 1, "nodes": {"a": 3}}')).toThrow('must map');
});

test('an address takes so many pairs and no more', () => {
  expect(matchText({})).toBeNull();
  expect(matchText({ a: 'x', b: 'y' })).toBe('a=x\nb=y');
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`node_${i}`, `other_${i}`]));
  expect([matchText(many), tooMany(many), tooMany({})]).toEqual([null, true, false]);
});

test('by hand comes before what the server found, and that before the name', () => {
  const inB = (name: string) => ['x', 'y', 'same'].includes(name);
  expect(partnerOf('a', { a: 'x' }, { a: 'y' }, inB)).toBe('x');
  expect(partnerOf('a', {}, { a: 'y' }, inB)).toBe('y');
  expect(partnerOf('same', {}, {}, inB)).toBe('same');
  expect(partnerOf('gone', {}, {}, inB)).toBeNull();
});
