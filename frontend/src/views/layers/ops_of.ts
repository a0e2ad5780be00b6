import { batch } from '@preact/signals';
import type { Item } from '../../model/layers/folding';
import { graphLayers } from '../../state/graph/layers';
import { chosenLayer } from '../../state/page/choices';
import { selectNode } from '../../state/selection';
import { goToScope, withGraph } from '../graph/canvas/navigation';

/** Shows the ops of a layer on the graph of ops: its scope, or its node if it has no scope. */
export function opsOf(item: Item): void {
  const found = graphLayers.data.value;
  if (!found) return;
  const { paths, names } = found.graph;
  const rows = item.cards.flatMap((card) => [...found.layers.cards[card]!.rows]);
  const scope =
    item.kind === 'layer' || item.kind === 'block'
      ? commonScope(
          rows.map((row) => paths.at(row)),
          item.scope,
        )
      : '';
  batch(() => {
    chosenLayer.value = null;
    if (scope !== '') goToScope(scope);
    else {
      withGraph(() => undefined);
      selectNode(names.at(item.output.row));
    }
  });
}

/** The display scope with the most nodes of a layer: one of their paths contains the layer's scopes. */
function commonScope(paths: readonly string[], scope: string): string {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const at = `/${path}/`.indexOf(`/${scope}/`);
    if (at < 0) continue;
    const prefix = path.slice(0, at + scope.length);
    counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}
