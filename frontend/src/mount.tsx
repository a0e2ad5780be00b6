import './styles/index.css';
import { render } from 'preact';
import type { Provider } from './api/provider';
import { begin } from './begin';
import { installProbe } from './lib/probe';
import { drawVisibly } from './lib/text/visible_page';
import { graph, overlay, prefetchNeighbours } from './state/graph/graph';
import { graphLayers } from './state/graph/layers';
import { node, snapshots } from './state/graph/node';
import { startPolling } from './state/live';
import { syncAddress } from './state/page/address';
import { theme } from './state/page/preferences';
import { useProvider } from './state/provider';
import { run, runList } from './state/runs';
import { graphSteps } from './state/steps';
import { timeline } from './state/tensors/timeline';
import { App } from './views/App';
import { lazyViews } from './views/shell/MainView';

const REST_AFTER_MS = 1500;

/** Mounts the application into `root`: the page's `#app` (main.ts), or an element in TensorBoard's iframe (plugin.js). */
export async function mount(root: HTMLElement, provider: Promise<Provider> = begin()): Promise<void> {
  root.classList.add('mount');
  document.documentElement.dataset.theme = theme.value;
  useProvider(await provider);
  installProbe(
    () =>
      runList.value !== null &&
      ![run, graphSteps, graph, overlay, node, snapshots, timeline, graphLayers].some((resource) => resource.loading.value),
  );
  syncAddress();
  startPolling();
  prefetchNeighbours();
  drawVisibly();
  render(<App />, root);
  // The first picture has priority over the code of the other views, which is loaded on demand until then.
  setTimeout(lazyViews.load, REST_AFTER_MS);
}
