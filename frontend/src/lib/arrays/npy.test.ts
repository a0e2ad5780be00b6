import { describe, expect, test } from 'vitest';
import { encodeNpy } from '../../api/encode';
import { decodeNpy, halfToNumber, NpyError } from './npy';

const bytes = (array: ArrayBufferView<ArrayBuffer>) => new Uint8Array(array.buffer);

describe('decodeNpy', () => {
  test.each([
    ['<f4', Float32Array.of(1.5, Number.NaN, Number.NEGATIVE_INFINITY)],
    ['<f8', Float64Array.of(0.1, -0, 1e300)],
    ['|i1', Int8Array.of(-128, 0, 127)],
    ['|u1', Uint8Array.of(0, 1, 255)],
    ['|b1', Uint8Array.of(1, 0, 1)],
    ['<i2', Int16Array.of(-32768, 0, 32767)],
    ['<u2', Uint16Array.of(0, 1, 65535)],
    ['<i4', Int32Array.of(-(2 ** 31), 0, 2 ** 31 - 1)],
    ['<u4', Uint32Array.of(0, 1, 2 ** 32 - 1)],
    ['<i8', BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n, 2n ** 63n - 1n)],
    ['<u8', BigUint64Array.of(0n, 1n, 2n ** 64n - 1n)],
  ])('reads %s exactly', (descr, values) => {
    const array = decodeNpy(encodeNpy(descr, [3], bytes(values)));
    expect(array).toEqual({ kind: descr.slice(1), shape: [3], values });
  });

  test('reads half precision, its subnormals and its special values', () => {
    const bits = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00, 0xfc00, 0x8000, 0x7bff);
    const { values } = decodeNpy(encodeNpy('<f2', [7], bytes(bits)));
    expect([...(values as Float32Array)]).toEqual([1, -2, 2 ** -24, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 65504]);
    expect(halfToNumber(0x7e00)).toBeNaN();
  });

  test('keeps real and imaginary parts of complex numbers in pairs', () => {
    const { kind, values, shape } = decodeNpy(encodeNpy('<c8', [2], bytes(Float32Array.of(1, 2, 3, -4))));
    expect([kind, shape, [...(values as Float32Array)]]).toEqual(['c8', [2], [1, 2, 3, -4]]);
  });

  test('reads fixed-width bytes as UTF-8 without their padding, and UTF-32 text', () => {
    const text = new TextEncoder().encode('ab\0\0πx\0\0'.replace('πx\0\0', 'πx\0'));
    expect(decodeNpy(encodeNpy('|S4', [2], text)).values).toEqual(['ab', 'πx']);
    const points = bytes(Uint32Array.of(0x41, 0, 0x1f600, 0x42));
    expect(decodeNpy(encodeNpy('<U2', [2], points)).values).toEqual(['A', '😀B']);
  });

  test('long text is cut and says how long it is, without its padding', () => {
    const text = new Uint8Array(6000).fill(0xff, 0, 5000);
    expect(decodeNpy(encodeNpy('|S6000', [1], text)).values).toEqual([`${'\\xff'.repeat(4096)}… (5,000 bytes)`]);
    const points = bytes(new Uint32Array(200_000).fill(0x41));
    expect(decodeNpy(encodeNpy('<U200000', [1], points)).values).toEqual([`${'A'.repeat(4096)}… (200,000 characters)`]);
  });

  test('reads scalars and empty arrays', () => {
    expect(decodeNpy(encodeNpy('<f4', [], bytes(Float32Array.of(7)))).values).toEqual(Float32Array.of(7));
    expect(decodeNpy(encodeNpy('<f4', [0, 3], new Uint8Array()))).toEqual({ kind: 'f4', shape: [0, 3], values: new Float32Array() });
  });

  test('reads a header of any length', () => {
    const shape = `(${'1, '.repeat(100_000)}2,)`;
    const header = new TextEncoder().encode(`{'descr': '|u1', 'fortran_order': False, 'shape': ${shape}, }\n`);
    const file = new Uint8Array(12 + header.length + 2);
    file.set([0x93, ...new TextEncoder().encode('NUMPY'), 2, 0]);
    new DataView(file.buffer).setUint32(8, header.length, true);
    file.set(header, 12);
    file.set([7, 9], 12 + header.length);
    const array = decodeNpy(file.buffer);
    expect([array.shape.length, array.values]).toEqual([100_001, Uint8Array.of(7, 9)]);
  });

  test('turns column-major arrays into row-major ones', () => {
    const buffer = encodeNpy('<i4', [2, 3], bytes(Int32Array.of(1, 4, 2, 5, 3, 6)));
    const header = new Uint8Array(buffer);
    const at = new TextDecoder('latin1').decode(header).indexOf('False');
    header.set(new TextEncoder().encode('True '), at);
    expect(decodeNpy(buffer).values).toEqual(Int32Array.of(1, 2, 3, 4, 5, 6));
  });

  test.each([
    ['no magic', new ArrayBuffer(64), 'not an .npy file'],
    ['too short', new ArrayBuffer(3), 'not an .npy file'],
    ['big-endian', encodeNpy('>f4', [1], new Uint8Array(4)), 'big-endian'],
    ['object', encodeNpy('|O', [1], new Uint8Array(8)), "type 'O'"],
    ['cut short', encodeNpy('<f8', [4], new Uint8Array(8)), '8 of 32 bytes'],
  ])('refuses %s with a sentence', (_, buffer, sentence) => {
    expect(() => decodeNpy(buffer)).toThrow(NpyError);
    expect(() => decodeNpy(buffer)).toThrow(sentence);
  });
});
