import { computed } from '@preact/signals';
import { Lru } from '../lib/lru';
import type { ValueRange } from '../model/wire/value_scale';
import { isShare } from '../model/wire/value_scale';
import { view } from './choices';
import { colourBy } from './graph';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, runRevision, workerId } from './runs';

/** So that going from view to view, or from one statistic to another and back, shows no other colours in between. */
const ranges = new Lru<string, ValueRange>(32);

/** Between which numbers the statistic that colours the graph lies over all steps of the run, so that a colour means the same at each of them. */
export const statisticRange = resource(
  computed(() => {
    const [run, graph, { kind, statistic = 'abs_max' }] = [runId.value, graphId.value, colourBy.value];
    if (view.value !== 'graph' || run === null || graph === null || kind !== 'statistic' || isShare(statistic)) return null;
    const subject = `${run} ${graph} ${workerId.value} ${statistic}`;
    return { key: `${subject} ${runRevision.value}`, subject, run, graph, query: { statistic, worker: workerId.value } };
  }),
  ({ run, graph, query }, abort) => api().statisticRange(run, graph, query, abort),
  { cache: ranges },
);
