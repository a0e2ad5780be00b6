/** Commands of the palette: the keys of the page and of the graph, and commands without keys. */

import { copyText } from '../../lib/download';
import { shareAddress } from '../../lib/host_page';
import { VIEW_NAMES } from '../../model/run/deep_link';
import { bookmarks, goToBookmark } from '../../state/page/bookmarks';
import { chosenScope, chosenTensor, colour, view } from '../../state/page/choices';
import { maximisePanel, toggleLegend } from '../../state/page/ui';
import { report, shownGroups } from '../../state/problems/findings';
import { wrongProblems } from '../../state/problems/problems';
import { goTo, selectedNode } from '../../state/selection';
import { goToStep, stepColumns, stepIndex } from '../../state/steps';
import { GRAPH_KEYS } from '../graph/canvas/graph_keys';
import { showNanPath, withGraph } from '../graph/canvas/navigation';
import { COLOURINGS } from '../shell/ColourControl';
import { eventKey, KEYS, type KeyRow } from '../shell/page_keys';

interface Command {
  readonly title: string;
  /** Key of a recent command, if its title may not be unique. */
  readonly id?: string;
  readonly detail?: string;
  /** The key with the same effect. */
  readonly key?: string;
  /** Text to continue typing, for commands with an argument; they do nothing by themselves. */
  readonly fill?: string;
  readonly run?: () => void;
}

function views(): Command[] {
  return VIEW_NAMES.map(({ value, label }) => ({
    title: `View: ${label}`,
    run: () => {
      view.value = value;
      maximisePanel(false);
    },
  }));
}

function colourings(): Command[] {
  return COLOURINGS.map(({ value, label }) => ({
    title: `Colour by: ${label}`,
    run: () => {
      colour.value = value;
      if (view.value !== 'timeline') withGraph(() => undefined);
    },
  }));
}

/** Esc and Ctrl+K are the palette's own keys while it is open. */
const isOffered = ({ keys, selected }: KeyRow): boolean =>
  keys[0] !== 'Esc' && keys[0] !== 'Ctrl+K' && (!selected || chosenTensor.value !== null || chosenScope.value !== null);

const pageKeys = (): Command[] =>
  KEYS.filter(isOffered).flatMap(({ keys, does, each, run }) =>
    titled(keys, does, each).map(({ key, title }) => ({ title, key, run: () => run(eventKey(key)) })),
  );

const graphKeys = (): Command[] =>
  GRAPH_KEYS.filter(isOffered).flatMap(({ keys, does, each, actions }) =>
    titled(keys, does, each).flatMap(({ key, title }) => {
      const action = actions?.[eventKey(key)];
      return action ? [{ title: `Graph: ${title}`, key, run: () => withGraph(action) }] : [];
    }),
  );

/** A row of several keys is one command per titled key. */
function titled(keys: readonly string[], does: string, each: Readonly<Record<string, string>> | undefined) {
  if (each) return Object.entries(each).map(([key, title]) => ({ key, title }));
  return keys.length === 1 ? [{ key: keys[0]!, title: does }] : [];
}

function goTos(): Command[] {
  const bad = stepColumns.value.step.flatMap((step, i) =>
    (stepColumns.value.nan[i] ?? 0) + (stepColumns.value.inf[i] ?? 0) > 0 ? [step] : [],
  );
  const shown = stepColumns.value.step[stepIndex.value] ?? -1;
  const commands: Command[] = [{ title: 'Go to step …', fill: 'step ' }];
  if (bad.length > 0) {
    commands.push({ title: 'Go to the next step with NaN or Inf', run: () => goToStep(bad.find((step) => step > shown) ?? bad[0]!) });
    commands.push({
      title: 'Go to the previous step with NaN or Inf',
      run: () => goToStep(bad.findLast((step) => step < shown) ?? bad.at(-1)!),
    });
  }
  const worst = worstProblem();
  if (worst) commands.push({ title: 'Go to the worst problem', run: worst });
  return commands;
}

/** The origin of NaN, else the worst finding, else the first non-finite tensor; null if all is well. */
function worstProblem(): (() => void) | null {
  if (report.value?.origins[0]) return showNanPath;
  const finding = shownGroups.value[0]?.findings[0];
  const place = finding
    ? { ...finding, step: finding.first_step }
    : wrongProblems.value.map((one) => ({ ...one, step: one.first_step }))[0];
  if (!place) return null;
  const { graph, tensor, step } = place;
  return () => {
    view.value = 'graph';
    goTo({ graph, tensor, step });
  };
}

function copies(): Command[] {
  const [node, tensor] = [selectedNode.value, chosenTensor.value];
  const copy = (text: string) => () => void copyText(text);
  return [
    { title: 'Copy link to this view', run: () => void copyText(shareAddress()) },
    ...(node === null ? [] : [{ title: 'Copy the name of the node', run: copy(node) }]),
    ...(tensor === null ? [] : [{ title: 'Copy the name of the tensor', run: copy(tensor) }]),
  ];
}

const onTheGraph = (): Command[] => [
  { title: 'Graph: Show or hide the legend', run: () => withGraph(toggleLegend) },
  {
    title: 'Export image …',
    run: () => withGraph(() => document.querySelector<HTMLElement>('.graph-toolbar [aria-label="Export image"]')?.click()),
  },
];

const marked = (): Command[] =>
  bookmarks.value.map((bookmark) => ({
    title: `Bookmark: ${bookmark.name}${bookmark.step === null ? '' : `, step ${bookmark.step}`}`,
    id: `bookmark ${bookmark.link}`,
    detail: bookmark.place,
    run: () => goToBookmark(bookmark),
  }));

/** Lists of commands, without those that have no effect now. A new one is one row. */
export const COMMAND_LISTS: readonly (() => readonly Command[])[] = [
  views,
  goTos,
  colourings,
  pageKeys,
  graphKeys,
  copies,
  onTheGraph,
  marked,
];
