/** What the graph pane's parts tell each other. */

export type Status = { readonly kind: 'empty' | 'loading' | 'ready' } | { readonly kind: 'failed'; readonly message: string };

export interface Hover {
  readonly entity: number;
  /** Meta edge, where the pointer is over one; -1 else. */
  readonly edge: number;
  readonly x: number;
  readonly y: number;
}

export interface GraphEvents {
  select(name: string | null): void;
  hover(name: string | null): void;
  expanded(scopes: readonly string[]): void;
}
