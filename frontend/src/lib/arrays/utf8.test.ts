import { afterEach, describe, expect, test, vi } from 'vitest';
import { decodeBytes, MOST_SHOWN, shortened } from './utf8';

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const EDGES = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];

function strictly(bytes: Uint8Array): string | null {
  try {
    return STRICT.decode(bytes);
  } catch {
    return null;
  }
}

/** Characters that the platform's decoder accepts; other bytes one by one. */
function expected(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const widths = [1, 2, 3, 4].filter((width) => at + width <= bytes.length);
    const width = widths.find((count) => strictly(bytes.subarray(at, at + count)) !== null);
    text += width ? strictly(bytes.subarray(at, at + width)) : `\\x${(bytes[at] as number).toString(16).padStart(2, '0')}`;
    at += width ?? 1;
  }
  return text;
}

/** The same numbers in every test run: a linear congruential generator (Numerical Recipes). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Bytes whose reads are counted. */
function counting(bytes: Uint8Array): { bytes: Uint8Array; reads: () => number } {
  let reads = 0;
  const get = (target: Uint8Array, name: string | symbol) => {
    if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
    return Reflect.get(target, name, target) as unknown;
  };
  return { bytes: new Proxy(bytes, { get }), reads: () => reads };
}

afterEach(() => vi.restoreAllMocks());

describe('decodeBytes', () => {
  test('bytes that are not UTF-8 are written out, what is around them stays', () => {
    expect(decodeBytes(Uint8Array.of(0xff, 0, 0x62))).toBe('\\xff\0b');
    expect(decodeBytes(Uint8Array.of(0x61, 0xcf, 0x80, 0xe2, 0x82, 0x62))).toBe('aπ\\xe2\\x82b');
    expect(decodeBytes(new Uint8Array(0))).toBe('');
    expect(decodeBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa');
  });

  test.each([
    ['overlong', [0xc0, 0x80]],
    ['overlong in three', [0xe0, 0x9f, 0xbf]],
    ['overlong in four', [0xf0, 0x8f, 0xbf, 0xbf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a lead that is none', [0xf8, 0x88, 0x80, 0x80]],
    ['cut short', [0xf0, 0x9f, 0x98]],
  ])('%s is written out byte by byte', (_, bytes) => {
    expect(decodeBytes(Uint8Array.from(bytes))).toBe(bytes.map((byte) => `\\x${byte.toString(16)}`).join(''));
  });

  test('takes what the platform takes, after every lead byte', () => {
    for (let lead = 0; lead < 256; lead++) {
      for (const second of EDGES) {
        const bytes = Uint8Array.of(lead, second, 0x80, 0xbf);
        expect(decodeBytes(bytes)).toBe(expected(bytes));
      }
    }
  });

  test('takes what the platform takes of random bytes', () => {
    const random = randomNumbers(7);
    const pieces = [...'aéπ€😀\u{10ffff}\ud7ff'].map((letter) => [...new TextEncoder().encode(letter)]);
    const piece = () => (random(2) ? [random(256)] : (pieces[random(pieces.length)] as number[]).slice(0, 1 + random(4)));
    for (let round = 0; round < 1000; round++) {
      const bytes = Uint8Array.from(Array.from({ length: random(6) }, piece).flat());
      expect(decodeBytes(bytes)).toBe(expected(bytes));
    }
  });

  test('decodes once and reads no byte of a long string more than a few times, whatever they are', () => {
    const random = randomNumbers(3);
    const decode = vi.spyOn(TextDecoder.prototype, 'decode');
    const all = (length: number, byte: () => number) => Uint8Array.from({ length }, byte);
    for (const byte of [() => random(256), () => 0xff, () => 0xf1, () => 0x80, () => (random(2) ? 0xf1 : 0x80)]) {
      for (const length of [1000, MOST_SHOWN, 100_000]) {
        decode.mockClear();
        const counted = counting(all(length, byte));
        decodeBytes(counted.bytes);
        expect(counted.reads()).toBeLessThanOrEqual(4 * Math.min(length, MOST_SHOWN) + 4);
        expect(decode).toHaveBeenCalledTimes(1);
      }
    }
  });

  test('a long string is cut and says how long it is', () => {
    expect(decodeBytes(new Uint8Array(MOST_SHOWN).fill(0x61))).toBe('a'.repeat(MOST_SHOWN));
    expect(decodeBytes(new Uint8Array(100_000).fill(0x61))).toBe(`${'a'.repeat(MOST_SHOWN)}… (100,000 bytes)`);
    expect(decodeBytes(new Uint8Array(5000).fill(0x80))).toBe(`${'\\x80'.repeat(MOST_SHOWN)}… (5,000 bytes)`);
  });

  test.each([1, 2, 3, 4])('is cut where a character begins, of those that are shifted by %i', (shift) => {
    const text = 'a'.repeat(shift) + '😀'.repeat(2000);
    const shown = decodeBytes(new TextEncoder().encode(text));
    const letters = Math.floor((MOST_SHOWN - shift) / 4);
    expect(shown).toBe(`${'a'.repeat(shift)}${'😀'.repeat(letters)}… (${(8000 + shift).toLocaleString('en-US')} bytes)`);
  });
});

describe('shortened', () => {
  test('long text is cut between characters and says how long it is', () => {
    expect(shortened('a'.repeat(MOST_SHOWN))).toBe('a'.repeat(MOST_SHOWN));
    expect(shortened('a'.repeat(5000))).toBe(`${'a'.repeat(MOST_SHOWN)}… (5,000 characters)`);
    expect(shortened(`a${'😀'.repeat(2500)}`)).toBe(`a${'😀'.repeat(2047)}… (5,001 characters)`);
  });
});
