/** Cache of results by their input numbers. Equal numbers return the same object. */

interface Entry<T> {
  readonly key: Int32Array;
  readonly result: T;
}

export class NumberMemo<T> {
  private readonly entries = new Map<number, Entry<T>[]>();
  private kept = 0;
  private readonly bits: Int32Array;

  /** `numbers`: the caller writes the input here before a lookup. `mostKept`: capacity. */
  constructor(
    readonly numbers: Float32Array,
    private readonly mostKept: number,
  ) {
    this.bits = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  }

  /** The result for the first `length` numbers, from the cache or by `make`. */
  get(length: number, make: () => T): T {
    const hash = this.hash(length);
    const alike = this.entries.get(hash);
    for (const entry of alike ?? []) if (this.equals(entry.key, length)) return entry.result;
    const key = this.bits.slice(0, length);
    const entry = { key, result: make() };
    if (this.kept++ >= this.mostKept) {
      this.entries.clear();
      this.kept = 1;
    }
    if (alike && this.kept > 1) alike.push(entry);
    else this.entries.set(hash, [entry]);
    return entry.result;
  }

  /** FNV-1a over the numbers' bits. */
  private hash(length: number): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < length; i++) {
      hash = Math.imul(hash ^ this.bits[i]!, 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  private equals(key: Int32Array, length: number): boolean {
    if (key.length !== length) return false;
    for (let i = 0; i < length; i++) if (key[i] !== this.bits[i]) return false;
    return true;
  }
}
