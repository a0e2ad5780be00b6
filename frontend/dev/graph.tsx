/** The graph pane alone, on answers saved from a server: /dev/graph.html?graph=URL&step=URL&colour=health&theme=light. */

import { signal } from '@preact/signals';
import { render } from 'preact';
import { type ColourBy, type ColourKind, decodeGraph, type GraphData, type StatisticName } from '../src/model/graph';
import { decodeStep, type StepStatistics } from '../src/model/steps';
import '../src/styles/tokens.css';
import '../src/styles/base.css';
import { GraphPane } from '../src/views/graph/GraphPane';

const parameters = new URLSearchParams(location.search);
const theme = parameters.get('theme') === 'dark' ? 'dark' : 'light';
const graph = signal<GraphData | null>(null);
const overlay = signal<StepStatistics | null>(null);
const selected = signal<string | null>(parameters.get('select'));
const [kind, statistic] = (parameters.get('colour') ?? 'health').split(':');
const colour = { kind: kind as ColourKind, ...(statistic ? { statistic: statistic as StatisticName } : {}) } satisfies ColourBy;
const open = parameters.get('open');

function Page() {
  return (
    <GraphPane
      graph={graph.value}
      overlay={overlay.value}
      selected={selected.value}
      colour={colour}
      theme={theme}
      onSelect={(name) => {
        selected.value = name;
      }}
      {...(open ? { expandedScopes: open.split(',') } : {})}
    />
  );
}

async function load(): Promise<void> {
  const bytes = async (name: string) => (await fetch(parameters.get(name)!)).arrayBuffer();
  if (parameters.has('step')) overlay.value = decodeStep(await bytes('step'));
  const buffer = await bytes('graph');
  performance.mark('graph-received');
  graph.value = decodeGraph(buffer);
}

document.documentElement.dataset.theme = theme;
render(<Page />, document.getElementById('app')!);
void load();
