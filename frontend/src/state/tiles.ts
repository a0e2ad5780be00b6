import { signal } from '@preact/signals';
import type { SnapshotKey } from '../api/api';
import { isAbort } from '../lib/latest';
import { Lru } from '../lib/lru';
import { axisLength, type DimMapping, toSelection } from '../model/dims';
import { MOST_ELEMENTS, Slice } from '../model/slice';
import { api } from './provider';
import { noteAnswer } from './unanswered';

/** Elements in a tile, down and across, where the plane is too large to fetch whole. */
const TILE = 512;

/** A matrix of a tensor that is fetched tile by tile as it scrolls into view. */
export class TiledPlane {
  readonly rows: number;
  readonly columns: number;
  /** Grows with each tile that arrives; reading it in a view draws the view again. */
  readonly arrived = signal(0);
  readonly error = signal<Error | null>(null);
  private readonly tileRows: number;
  private readonly tileColumns: number;
  private readonly tiles = new Lru<string, Slice>(24);
  private readonly pending = new Set<string>();
  private readonly abort = new AbortController();

  constructor(
    readonly key: SnapshotKey,
    readonly shape: readonly number[],
    readonly mapping: DimMapping,
  ) {
    this.rows = axisLength(shape, mapping, 'y');
    this.columns = axisLength(shape, mapping, 'x');
    const whole = this.rows * this.columns <= MOST_ELEMENTS;
    this.tileRows = whole ? this.rows : tileLength(this.rows, this.columns);
    this.tileColumns = whole ? this.columns : tileLength(this.columns, this.rows);
  }

  /** The tile an element is in and its place there, or null while it is being fetched. */
  at(row: number, column: number): { slice: Slice; offset: number } | null {
    const [y, x] = [Math.floor(row / this.tileRows), Math.floor(column / this.tileColumns)];
    const slice = this.tiles.get(`${y} ${x}`);
    if (!slice) {
      this.request(y, x);
      return null;
    }
    return { slice, offset: slice.offset({ y: row - y * this.tileRows, x: column - x * this.tileColumns }) };
  }

  dispose(): void {
    noteAnswer(null, this.retry);
    this.abort.abort();
  }

  /** Forgets the failure, so that the tiles in view are asked for again. */
  readonly retry = (): void => {
    this.error.value = null;
    this.arrived.value++;
  };

  private request(y: number, x: number): void {
    const name = `${y} ${x}`;
    if (this.pending.has(name) || this.error.peek()) return;
    this.pending.add(name);
    void this.load(y, x).then((slice) => {
      this.pending.delete(name);
      if (slice) this.tiles.set(name, slice);
      this.arrived.value++;
    });
  }

  private async load(y: number, x: number): Promise<Slice | null> {
    const span = (tile: number, size: number, length: number) => ({
      start: tile * size,
      stop: Math.min(length, (tile + 1) * size),
      step: 1,
    });
    const spans = { y: span(y, this.tileRows, this.rows), x: span(x, this.tileColumns, this.columns) };
    const selection = toSelection(this.mapping, spans);
    try {
      return new Slice(await api().value(this.key, selection, this.abort.signal), { mapping: this.mapping, spans, selection });
    } catch (error) {
      if (isAbort(error)) return null;
      this.error.value = error as Error;
      noteAnswer(this.error.value, this.retry);
      return null;
    }
  }
}

/** A long thin plane gets long thin tiles. */
function tileLength(length: number, other: number): number {
  return Math.min(length, other < TILE ? Math.floor(MOST_ELEMENTS / 4 / Math.max(1, other)) : TILE);
}
