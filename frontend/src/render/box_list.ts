/** Boxes on the screen, as columns that are refilled each frame without allocation. */
export class BoxList {
  count = 0;
  entity = new Int32Array(64);
  x = new Float32Array(64);
  y = new Float32Array(64);
  width = new Float32Array(64);
  height = new Float32Array(64);
  /** 0 to 255. */
  alpha = new Uint8Array(64);

  clear(): void {
    this.count = 0;
  }

  push(entity: number, x: number, y: number, width: number, height: number, alpha: number): void {
    const i = this.count++;
    if (i === this.entity.length) this.grow();
    this.entity[i] = entity;
    this.x[i] = x;
    this.y[i] = y;
    this.width[i] = width;
    this.height[i] = height;
    this.alpha[i] = alpha;
  }

  /** The same boxes in lists of at most this length. */
  inParts(most: number): BoxList[] {
    if (this.count <= most) return [this];
    return Array.from({ length: Math.ceil(this.count / most) }, (_, part) =>
      this.part(part * most, Math.min(this.count, (part + 1) * most)),
    );
  }

  private part(from: number, to: number): BoxList {
    const part = new BoxList();
    part.count = to - from;
    part.entity = this.entity.subarray(from, to);
    part.x = this.x.subarray(from, to);
    part.y = this.y.subarray(from, to);
    part.width = this.width.subarray(from, to);
    part.height = this.height.subarray(from, to);
    part.alpha = this.alpha.subarray(from, to);
    return part;
  }

  private grow(): void {
    const larger = <T extends Int32Array | Float32Array | Uint8Array>(old: T, made: T): T => {
      made.set(old);
      return made;
    };
    const length = 2 * this.entity.length;
    this.entity = larger(this.entity, new Int32Array(length));
    this.x = larger(this.x, new Float32Array(length));
    this.y = larger(this.y, new Float32Array(length));
    this.width = larger(this.width, new Float32Array(length));
    this.height = larger(this.height, new Float32Array(length));
    this.alpha = larger(this.alpha, new Uint8Array(length));
  }
}
