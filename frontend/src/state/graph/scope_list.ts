/** The scopes of the current graph for the command palette, computed when it is first opened. */

import { computed } from '@preact/signals';
import { computeScopes } from '../../layout/client';
import { Lru } from '../../lib/lru';
import type { ScopeList } from '../../model/graph/build_tree';
import { paletteOpen } from '../page/ui';
import { resource } from '../resource';
import { runId } from '../runs';
import { graph } from './graph';

const known = new Lru<string, ScopeList>(4);

export const scopeList = resource(
  computed(() => {
    const data = graph.data.value;
    if (!paletteOpen.value || data === null) return null;
    const subject = `${runId.value} ${data.id} ${data.nodeCount}`;
    return { key: subject, subject, graph: data };
  }),
  ({ graph: data }) => computeScopes(data),
  { cache: known },
);
