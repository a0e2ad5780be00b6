import { computed } from '@preact/signals';
import { timelineScope, view } from './choices';
import { colourBy } from './graph';
import { api } from './provider';
import { resource } from './resource';
import { graphId, runId, runRevision, workerId } from './runs';
import { serverSteps } from './steps';

/** What a cell shows: the statistic that colours the graph, or its health. */
export const timelineStatistic = computed(() => (colourBy.value.kind === 'statistic' ? (colourBy.value.statistic ?? 'abs_max') : null));

/** The timeline of the graph on show, over the steps that are looked at; fetched only while it is on show. */
export const timeline = resource(
  computed(() => {
    if (view.value !== 'timeline' || runId.value === null || graphId.value === null) return null;
    const [scope, statistic] = [timelineScope.value, timelineStatistic.value ?? 'nan_share'];
    const subject = `${runId.value} ${graphId.value} ${workerId.value} ${statistic} ${scope}`;
    const key = `${subject} ${serverSteps.value} ${runRevision.value}`;
    const query = { statistic, scope: scope || null, worker: workerId.value, steps: serverSteps.value };
    return { key, subject, run: runId.value, graph: graphId.value, query };
  }),
  ({ run, graph, query }, abort) => api().timeline(run, graph, query, abort),
);
