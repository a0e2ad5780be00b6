import { useEffect } from 'preact/hooks';
import { isInTensorBoard } from '../lib/host_page';
import { visible } from '../lib/text/visible_text';
import { connectionError, readings } from '../state/live';
import { chosenRun, view } from '../state/page/choices';
import { panelWidth, theme } from '../state/page/preferences';
import { helpOpen, paletteOpen, panelMaximised, panelShown, problemsShown } from '../state/page/ui';
import { namesOfRuns, runEntry, runList, runName, runs, unopened } from '../state/runs';
import { CodeBlock } from './kit/CopyButton';
import { Message } from './kit/Message';
import { NodePanel } from './panel/NodePanel';
import { ProblemsSidebar } from './problems/ProblemList';
import { DroppedFile, StoryBanner } from './share/Story';
import { Banner, LinkErrorBanner, ReadingBar } from './shell/Banners';
import { lazyViews, MainView } from './shell/MainView';
import { onPageKey } from './shell/page_keys';
import { showRun } from './shell/RunPicker';
import { PanelSplitter, ProblemsSplitter } from './shell/Splitter';
import { StepBar } from './shell/StepBar';
import { TopBar } from './shell/TopBar';

const [Help, Palette] = [lazyViews.part('Help'), lazyViews.part('Palette')];

/** TensorBoard has its own bar and name, so the page has one bar there instead of two. */
const inTensorBoard = isInTensorBoard();

export function App() {
  useEffect(() => {
    document.addEventListener('keydown', onPageKey);
    return () => document.removeEventListener('keydown', onPageKey);
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme.value;
  }, [theme.value]);
  useEffect(() => {
    document.title = runName.value === null ? 'tensortap' : `${visible(runName.value)} · tensortap`;
  }, [runName.value]);
  return (
    <div class="shell">
      <div class="bars" data-one={inTensorBoard}>
        <TopBar />
        {runEntry.value && <StepBar />}
      </div>
      <div>
        <Banner />
        <ReadingBar />
        <LinkErrorBanner />
        <StoryBanner />
        <DroppedFile />
      </div>
      <Body />
      {helpOpen.value && <Help />}
      {paletteOpen.value && <Palette />}
    </div>
  );
}

function Body() {
  if (runList.value === null) return <Waiting />;
  if (runs.value.length === 0) return <NoRuns />;
  if (runEntry.value === null) return <RunGone />;
  if (runEntry.value.graphs === 0 && readings.value[runEntry.value.id]) return <FirstReading />;
  if (unopened.value) return <main class="message">Opening {runEntry.value.name}…</main>;
  return (
    <main class="workspace">
      {problemsShown.value && view.value !== 'problems' && (
        <>
          <ProblemsSidebar />
          <ProblemsSplitter />
        </>
      )}
      {!panelMaximised.value && <MainView />}
      {panelShown.value && !panelMaximised.value && <PanelSplitter />}
      {panelShown.value && (
        <div
          class="panel-frame"
          data-maximised={panelMaximised.value}
          style={panelMaximised.value ? {} : { width: `${panelWidth.value}px` }}
        >
          <NodePanel />
        </div>
      )}
    </main>
  );
}

function Waiting() {
  const error = connectionError.value;
  if (!error) return <main class="message">Loading…</main>;
  return (
    <main>
      <Message title={error.status === 401 || error.status === 403 ? 'Access token required' : error.message} testid="error-state">
        <p>
          {error.status === 401 || error.status === 403
            ? `${error.message} ${error.hint} Open the URL printed by "tensortap serve", which ends in ?token=….`
            : error.hint}
        </p>
      </Message>
    </main>
  );
}

function FirstReading() {
  return (
    <main>
      <Message title={`Reading ${runEntry.value?.name}`} testid="first-reading">
        <p>This large run is opened for the first time. Its tensors appear as they are read. Meanwhile, you can choose another run.</p>
      </Message>
    </main>
  );
}

function NoRuns() {
  const folder = runList.value?.logdir ?? 'logs';
  const lines = `tap = tensortap.Tap(${JSON.stringify(`${folder}/my-run`)})\nmodel.fit(x, y, callbacks=[tap.callback()])`;
  return (
    <main>
      <Message title={`No runs in ${folder} yet`} testid="empty-state">
        <p>The first run will appear here automatically. To tap a Keras program, add two lines:</p>
        <CodeBlock code={lines} label="Copy the lines" />
        <p class="faint">
          Or try the demo: <code>tensortap demo</code>
        </p>
      </Message>
    </main>
  );
}

/** No run has the requested id; a name may be that of several runs. */
function RunGone() {
  const called = chosenRun.value;
  const named = runs.value.filter((run) => run.name === called);
  if (named.length > 1)
    return (
      <main>
        <Message title={`${named.length} runs have the name ${called}`} testid="error-state">
          <p>They are in different log directories. Choose one:</p>
          <div class="actions">
            {named.map((run) => (
              <button key={run.id} type="button" class="button" onClick={() => showRun(run.id)}>
                {namesOfRuns.value.get(run.id)}
              </button>
            ))}
          </div>
        </Message>
      </main>
    );
  return (
    <main>
      <Message title={`Run "${called}" not found`} testid="error-state">
        <p>It may have been deleted, or the link is from another log directory.</p>
        <div class="actions">
          <button
            type="button"
            class="button primary"
            onClick={() => {
              chosenRun.value = null;
            }}
          >
            Show the newest run
          </button>
        </div>
      </Message>
    </main>
  );
}
