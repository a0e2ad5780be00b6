/** Reader of the server's columns (`application/vnd.tensortap.columns`, server/http_api.md): named arrays behind a JSON header. */

const MAGIC = 'TTCOLS01';
const HEADER_AT = MAGIC.length + 4;

/** The bytes are not columns, or truncated. Request them again; if the error persists, server and page differ in version. */
export class ColumnsError extends Error {
  override name = 'ColumnsError';
}

/** Texts in one UTF-8 buffer; `at(i)` costs a slice, and rows are decoded only on demand. */
export class TextColumn {
  private text: string | undefined;

  constructor(
    readonly offsets: Uint32Array,
    readonly bytes: Uint8Array,
  ) {}

  get length(): number {
    return this.offsets.length - 1;
  }

  at(row: number): string {
    const [start, end] = [this.offsets[row] ?? 0, this.offsets[row + 1] ?? 0];
    const whole = this.whole();
    if (whole.length === this.bytes.length) return whole.slice(start, end);
    return decode(this.bytes.subarray(start, end));
  }

  /** Length of a row in characters, without decoding it. */
  lengthAt(row: number): number {
    return this.whole().length === this.bytes.length ? (this.offsets[row + 1] ?? 0) - (this.offsets[row] ?? 0) : this.at(row).length;
  }

  /** All rows joined. If it has as many characters as `bytes` has bytes (ASCII only), the offsets also count its characters. */
  whole(): string {
    this.text ??= decode(this.bytes);
    return this.text;
  }

  static of(rows: readonly string[]): TextColumn {
    const [text, encoder] = [rows.join(''), new TextEncoder()];
    const bytes = encoder.encode(text); // at once: row by row takes 10 times as long
    const offsets = new Uint32Array(rows.length + 1);
    rows.forEach((row, i) => {
      offsets[i + 1] = offsets[i]! + (bytes.length === text.length ? row.length : encoder.encode(row).length);
    });
    return new TextColumn(offsets, bytes);
  }
}

/** Few distinct texts over many rows: `values[codes[row]]`. */
export class DictColumn {
  constructor(
    readonly codes: Int32Array,
    readonly values: readonly string[],
  ) {}

  get length(): number {
    return this.codes.length;
  }

  at(row: number): string {
    return this.values[this.codes[row] ?? -1] ?? '';
  }

  static of(rows: readonly string[]): DictColumn {
    const values = [...new Set(rows)];
    const code = new Map(values.map((value, i) => [value, i]));
    return new DictColumn(
      Int32Array.from(rows, (row) => code.get(row) ?? -1),
      values,
    );
  }
}

type Column = Int32Array | Uint32Array | Float64Array | Uint8Array | TextColumn | DictColumn;

interface ColumnHeader {
  readonly name: string;
  readonly type: string;
  readonly count: number;
  readonly offset: number;
  readonly length: number;
  readonly bytes_offset?: number;
  readonly bytes_length?: number;
  readonly values?: readonly string[];
}

/** Decoded columns by name. The typed getters throw `ColumnsError` if a column is missing or of another type. */
export class Columns {
  constructor(
    readonly meta: Readonly<Record<string, unknown>>,
    private readonly columns: ReadonlyMap<string, Column>,
  ) {}

  get names(): readonly string[] {
    return [...this.columns.keys()];
  }

  i32(name: string): Int32Array {
    return this.typed(name, Int32Array, 'i32');
  }

  f64(name: string): Float64Array {
    return this.typed(name, Float64Array, 'f64');
  }

  u8(name: string): Uint8Array {
    return this.typed(name, Uint8Array, 'u8');
  }

  text(name: string): TextColumn {
    return this.typed(name, TextColumn, 'utf8');
  }

  dict(name: string): DictColumn {
    return this.typed(name, DictColumn, 'dict');
  }

  // Types by their names in the format: class names are shortened when the page is built.
  private typed<T extends Column>(name: string, type: abstract new (...args: never[]) => T, wanted: string): T {
    const column = this.columns.get(name);
    if (column instanceof type) return column;
    const found = column === undefined ? 'it is missing' : `it is ${typeName(column)}`;
    throw new ColumnsError(`column "${name}" should be ${wanted}, but ${found}; reload the page after upgrading the server`);
  }
}

function typeName(column: Column): string {
  if (column instanceof TextColumn) return 'utf8';
  if (column instanceof DictColumn) return 'dict';
  if (column instanceof Int32Array) return 'i32';
  if (column instanceof Uint32Array) return 'u32';
  return column instanceof Float64Array ? 'f64' : 'u8';
}

/** Decodes one answer. Arrays are views into `buffer`, nothing is copied. */
export function decodeColumns(buffer: ArrayBuffer): Columns {
  const magic = buffer.byteLength >= HEADER_AT ? decode(new Uint8Array(buffer, 0, MAGIC.length)) : '';
  if (magic.slice(0, 6) !== MAGIC.slice(0, 6))
    throw new ColumnsError('the response has no columns (its magic bytes are missing); is this a tensortap server?');
  if (magic !== MAGIC) throw new ColumnsError(`the response has columns format ${magic}; this page reads ${MAGIC}; reload the page`);
  const headerLength = new DataView(buffer).getUint32(MAGIC.length, true);
  const dataAt = HEADER_AT + headerLength;
  if (dataAt > buffer.byteLength) throw new ColumnsError('the header is truncated; reload the page');
  const header = parseHeader(decode(new Uint8Array(buffer, HEADER_AT, headerLength)));
  const columns = new Map(header.columns.map((column) => [column.name, read(buffer, dataAt, column)]));
  return new Columns(header.meta, columns);
}

function parseHeader(text: string): { meta: Record<string, unknown>; columns: ColumnHeader[] } {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ColumnsError('the header is not JSON; reload the page', { cause });
  }
}

function read(buffer: ArrayBuffer, dataAt: number, column: ColumnHeader): Column {
  const { type, count } = column;
  const slice = (offset: number, length: number): [ArrayBuffer, number] => {
    if (!(offset >= 0 && dataAt + offset + length <= buffer.byteLength))
      throw new ColumnsError(`column "${column.name}" is truncated; reload the page`);
    return [buffer, dataAt + offset];
  };
  if (type === 'i32') return new Int32Array(...slice(column.offset, count * 4), count);
  if (type === 'u32') return new Uint32Array(...slice(column.offset, count * 4), count);
  if (type === 'f64') return new Float64Array(...slice(column.offset, count * 8), count);
  if (type === 'u8') return new Uint8Array(...slice(column.offset, count), count);
  if (type === 'dict') return new DictColumn(new Int32Array(...slice(column.offset, count * 4), count), column.values ?? []);
  if (type === 'utf8') {
    const offsets = new Uint32Array(...slice(column.offset, (count + 1) * 4), count + 1);
    const length = column.bytes_length ?? 0;
    return new TextColumn(offsets, new Uint8Array(...slice(column.bytes_offset ?? 0, length), length));
  }
  throw new ColumnsError(`column "${column.name}" has the unknown type ${type}; reload the page after upgrading the server`);
}

// A leading byte order mark is text here, because offsets count it.
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
