import { signal } from '@preact/signals';
import type { SnapshotKey } from '../../api/api';
import { Lru } from '../../lib/lru';
import { isAbort } from '../../lib/scheduling';
import type { VirtualWindow } from '../../lib/virtual_scroll';
import { axisLength, type DimMapping, toSelection } from '../../model/value/dims';
import { MOST_ELEMENTS, Slice } from '../../model/value/slice';
import { api } from '../provider';
import { noteAnswer } from '../resource';

/** Size of a tile in elements, if the plane is too large to fetch whole. */
const TILE = 512;

/** Rows or columns from `first` to `last - 1`. */
type Extent = Pick<VirtualWindow, 'first' | 'last'>;

/** A matrix of a tensor that is fetched tile by tile while scrolling. */
export class TiledPlane {
  readonly rows: number;
  readonly columns: number;
  /** Increases with each tile that arrives; views that read it are redrawn. */
  readonly arrived = signal(0);
  readonly error = signal<Error | null>(null);
  private readonly tileRows: number;
  private readonly tileColumns: number;
  private readonly tiles = new Lru<string, Slice>(24);
  private readonly pending = new Map<string, AbortController>();

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

  /** The tile of an element and its position there, or null while it is not loaded; `load` fetches it. */
  at(row: number, column: number): { slice: Slice; offset: number } | null {
    const [y, x] = [Math.floor(row / this.tileRows), Math.floor(column / this.tileColumns)];
    const slice = this.tiles.get(`${y} ${x}`);
    return slice ? { slice, offset: slice.offset({ y: row - y * this.tileRows, x: column - x * this.tileColumns }) } : null;
  }

  /** Fetches the missing tiles of a part (`last` exclusive); requests for hidden tiles are aborted. */
  load(rows: Extent, columns: Extent): void {
    const wanted = new Set<string>();
    for (let y = Math.floor(rows.first / this.tileRows); y * this.tileRows < Math.min(rows.last, this.rows); y++)
      for (let x = Math.floor(columns.first / this.tileColumns); x * this.tileColumns < Math.min(columns.last, this.columns); x++) {
        wanted.add(`${y} ${x}`);
        this.request(y, x);
      }
    for (const [name, abort] of this.pending) if (!wanted.has(name)) this.giveUp(name, abort);
  }

  private giveUp(name: string, abort: AbortController): void {
    abort.abort();
    this.pending.delete(name);
  }

  dispose(): void {
    noteAnswer(null, this.retry);
    for (const [name, abort] of this.pending) this.giveUp(name, abort);
  }

  /** Clears the failure, so that the visible tiles are requested again. */
  readonly retry = (): void => {
    this.error.value = null;
    this.arrived.value++;
  };

  private request(y: number, x: number): void {
    const name = `${y} ${x}`;
    if (this.tiles.get(name) || this.pending.has(name) || this.error.peek()) return;
    const abort = new AbortController();
    this.pending.set(name, abort);
    void this.fetch(y, x, abort.signal).then((slice) => {
      if (abort.signal.aborted) return;
      this.pending.delete(name);
      if (slice) this.tiles.set(name, slice);
      this.arrived.value++;
    });
  }

  private async fetch(y: number, x: number, abort: AbortSignal): Promise<Slice | null> {
    const span = (tile: number, size: number, length: number) => ({
      start: tile * size,
      stop: Math.min(length, (tile + 1) * size),
      step: 1,
    });
    const spans = { y: span(y, this.tileRows, this.rows), x: span(x, this.tileColumns, this.columns) };
    const selection = toSelection(this.mapping, spans);
    try {
      return new Slice(await api().value(this.key, selection, abort), { mapping: this.mapping, spans, selection });
    } catch (error) {
      if (isAbort(error) || abort.aborted) return null;
      this.error.value = error as Error;
      noteAnswer(this.error.value, this.retry);
      return null;
    }
  }
}

/** A long thin plane has long thin tiles. */
function tileLength(length: number, other: number): number {
  return Math.min(length, other < TILE ? Math.floor(MOST_ELEMENTS / 4 / Math.max(1, other)) : TILE);
}
