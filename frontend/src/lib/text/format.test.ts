import { expect, test } from 'vitest';
import { formatAgo, formatBytes, formatCount, formatNumber, formatShare, formatShort } from './format';

test.each([
  [0, '0'],
  [-0, '-0'],
  [1, '1'],
  [1234567, '1.235e6'],
  [123456, '123,456'],
  [2884.27, '2,884'],
  [0.000123456, '0.0001235'],
  [0.0000123456, '1.235e-5'],
  [-1e-30, '-1e-30'],
  [2.34567, '2.346'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
])('formatNumber(%d) is %s', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test('formatCount groups thousands', () => {
  expect(formatCount(1234567)).toBe('1,234,567');
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [16 << 20, '16.0 MiB'],
  [300 * 2 ** 30, '300 GiB'],
])('formatBytes(%d) is %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, 10, '0 %'],
  [10, 10, '100 %'],
  [1, 1_000_000, '< 0.1 %'],
  [999_999, 1_000_000, '> 99.9 %'],
  [1, 3, '33.3 %'],
  [0, 0, '0 %'],
])('formatShare(%d, %d) is %s: a share is never rounded to none or all', (part, whole, text) => {
  expect(formatShare(part, whole)).toBe(text);
});

test.each([
  [1, 'just now'],
  [42, '42 s ago'],
  [300, '5 min ago'],
  [7300, '2 h ago'],
  [200_000, '2001-09-06'],
])('%d s ago reads %s', (age, text) => {
  expect(formatAgo(1_000_000_000 - age, 1_000_000_000)).toBe(text);
});

test('a short number keeps what seven characters hold', () => {
  expect(
    [0.69318, 12333, -0.1111111, -0.00098036, -123456, 2.0554e-33, -2.0554e-133, Number.NaN].map((value) => formatShort(value)),
  ).toEqual(['0.6932', '12,333', '-0.1111', '-9.8e-4', '-1.2e5', '2.1e-33', '-2.1e-133', 'NaN']);
});
