/** The weights of layers, with the nodes that compute their gradients and updates. */

import type { GraphData } from '../wire/graph';

/** A weight of a layer, and the rows of its gradients and updates. */
export interface CardWeight {
  readonly variable: string;
  readonly row: number;
  readonly trainable: boolean;
  readonly gradients: readonly number[];
  readonly updates: readonly number[];
}

/** Rows of weights, gradients and updates, by variable. */
export class WeightRows {
  private readonly gradients = new Map<string, number[]>();
  private readonly updates = new Map<string, number[]>();
  private readonly frozen: ReadonlySet<string>;
  /** Whether the graph names any weight. */
  readonly any: boolean;

  constructor(private readonly graph: GraphData) {
    this.frozen = new Set(graph.frozen);
    this.any = graph.kinds.values.includes('weight');
    for (let row = 0; row < graph.nodeCount; row++) {
      const kind = graph.kinds.at(row);
      const into = kind === 'gradient' ? this.gradients : kind === 'update' ? this.updates : null;
      if (!into) continue;
      const variable = graph.variables.at(row);
      const known = into.get(variable);
      if (known) known.push(row);
      else into.set(variable, [row]);
    }
  }

  of(rows: Int32Array): CardWeight[] {
    const found = new Map<string, CardWeight>();
    if (!this.any) return [];
    for (const row of rows) {
      if (this.graph.kinds.at(row) !== 'weight') continue;
      const variable = this.graph.variables.at(row);
      if (variable === '' || found.has(variable) || isSeed(variable)) continue;
      const [gradients, updates] = [this.gradients.get(variable) ?? [], this.updates.get(variable) ?? []];
      found.set(variable, { variable, row, trainable: !this.frozen.has(variable), gradients, updates });
    }
    return [...found.values()];
  }
}

/** State of a random generator, which Keras stores like a weight. */
const isSeed = (variable: string): boolean => /seed_generator(?:_\d+)?\/|seed_generator_state/.test(variable);
