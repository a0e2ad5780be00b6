import { decodeBytes, shortened } from './utf8';

/** Real elements, exact 64-bit integers, or text (as much as is shown). Complex arrays hold (re, im) pairs in `values`. */
type NpyValues =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | string[];

export interface NpyArray {
  /** NumPy's type string without byte order: `f4`, `f2`, `i8`, `b1`, `c16`, `S12`, `U3`. */
  kind: string;
  shape: number[];
  /** Row-major elements; twice as many for complex kinds. */
  values: NpyValues;
}

/** The bytes are not an .npy file of a supported type. */
export class NpyError extends Error {}

const MAGIC = '\x93NUMPY';

/** Decodes an .npy file (versions 1 to 3) of numbers, booleans, complex numbers or fixed-width text. */
export function decodeNpy(buffer: ArrayBuffer): NpyArray {
  const view = new DataView(buffer);
  const { header, dataOffset } = readHeader(view);
  const descr = /'descr'\s*:\s*'([<>|=]?)([a-zA-Z])(\d*)'/.exec(header);
  if (!descr) throw new NpyError(`the .npy header has an unsupported dtype: ${header.trim()}`);
  if (descr[1] === '>') throw new NpyError('big-endian .npy files are not supported');
  const shape = readShape(header);
  const count = shape.reduce((product, size) => product * size, 1);
  const kind = `${descr[2]}${descr[3]}`;
  const values = readValues(view, dataOffset, kind, count);
  const fortran = /'fortran_order'\s*:\s*True/.test(header);
  return { kind, shape, values: fortran && shape.length > 1 ? toRowMajor(values, shape, kind) : values };
}

function readHeader(view: DataView): { header: string; dataOffset: number } {
  const bytes = new Uint8Array(view.buffer);
  if (bytes.length < 10 || latin1(bytes.subarray(0, 6)) !== MAGIC) {
    throw new NpyError('the response is not an .npy file (its magic bytes are missing)');
  }
  const major = bytes[6] as number;
  if (major > 3) throw new NpyError(`.npy version ${major} is newer than this page understands (3)`);
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const start = major === 1 ? 10 : 12;
  if (start + length > bytes.length) throw new NpyError('the .npy header is truncated');
  return { header: latin1(bytes.subarray(start, start + length)), dataOffset: start + length };
}

/** In pieces: a header may be longer than the arguments of a call. */
function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

function readShape(header: string): number[] {
  const found = /'shape'\s*:\s*\(([^)]*)\)/.exec(header);
  if (!found) throw new NpyError('the .npy header has no shape');
  return (found[1] as string)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(Number);
}

type TypedArrayMaker = (buffer: ArrayBuffer) => NpyValues;

const PLAIN: Record<string, [number, TypedArrayMaker]> = {
  f4: [4, (b) => new Float32Array(b)],
  f8: [8, (b) => new Float64Array(b)],
  i1: [1, (b) => new Int8Array(b)],
  u1: [1, (b) => new Uint8Array(b)],
  b1: [1, (b) => new Uint8Array(b)],
  i2: [2, (b) => new Int16Array(b)],
  u2: [2, (b) => new Uint16Array(b)],
  i4: [4, (b) => new Int32Array(b)],
  u4: [4, (b) => new Uint32Array(b)],
  i8: [8, (b) => new BigInt64Array(b)],
  u8: [8, (b) => new BigUint64Array(b)],
  c8: [8, (b) => new Float32Array(b)],
  c16: [16, (b) => new Float64Array(b)],
};

function readValues(view: DataView, offset: number, kind: string, count: number): NpyValues {
  const text = /^([SU])(\d+)$/.exec(kind);
  const plain = PLAIN[kind];
  const itemsize = text ? Number(text[2]) * (text[1] === 'U' ? 4 : 1) : kind === 'f2' ? 2 : (plain?.[0] ?? Number.NaN);
  if (Number.isNaN(itemsize)) throw new NpyError(`elements of type '${kind}' cannot be shown`);
  const available = view.byteLength - offset;
  if (available < count * itemsize) {
    throw new NpyError(`the .npy file is truncated: ${available} of ${count * itemsize} bytes arrived`);
  }
  if (text) return readText(view, offset, count, itemsize, text[1] === 'U');
  if (kind === 'f2') return decodeHalf(view, offset, count);
  return (plain as [number, TypedArrayMaker])[1](view.buffer.slice(offset, offset + count * itemsize) as ArrayBuffer);
}

function readText(view: DataView, offset: number, count: number, itemsize: number, utf32: boolean): string[] {
  const read = utf32 ? readUtf32 : readBytes;
  return Array.from({ length: count }, (_, i) => read(view, offset + i * itemsize, itemsize));
}

/** A cell of text without NUL padding, truncated for display. */
function readBytes(view: DataView, at: number, itemsize: number): string {
  let length = itemsize;
  while (length > 0 && view.getUint8(at + length - 1) === 0) length--;
  return decodeBytes(new Uint8Array(view.buffer, at, length));
}

function readUtf32(view: DataView, at: number, itemsize: number): string {
  const points = Array.from({ length: itemsize / 4 }, (_, k) => view.getUint32(at + 4 * k, true));
  const letters = points.filter((point) => point !== 0 && point <= 0x10ffff).map((point) => String.fromCodePoint(point));
  return shortened(letters.join(''));
}

/** Reorders column-major elements; complex kinds move in pairs. */
function toRowMajor(values: NpyValues, shape: number[], kind: string): NpyValues {
  const width = kind.startsWith('c') ? 2 : 1;
  const out = values.slice() as NpyValues;
  const index = new Array<number>(shape.length).fill(0);
  const count = values.length / width;
  for (let row = 0; row < count; row++) {
    let column = 0;
    for (let d = shape.length - 1; d >= 0; d--) column = column * (shape[d] as number) + (index[d] as number);
    for (let k = 0; k < width; k++) out[row * width + k] = values[column * width + k] as never;
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d] = (index[d] as number) + 1;
      if ((index[d] as number) < (shape[d] as number)) break;
      index[d] = 0;
    }
  }
  return out;
}

/** IEEE binary16 to number. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Decodes little-endian binary16 values. The result is exact: every binary16 number is a binary32 number. */
function decodeHalf(view: DataView, offset: number, count: number): Float32Array {
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) out[i] = halfToNumber(view.getUint16(offset + 2 * i, true));
  return out;
}
