/** Sources of the command palette besides commands; a new source is one row. */

import { computed } from '@preact/signals';
import type { DictColumn } from '../../lib/arrays/columns';
import { counted, formatCount } from '../../lib/text/format';
import { nearestStep } from '../../model/run/step_list';
import { LETTER, type Texts } from '../../model/search/fuzzy';
import { searchPenalty } from '../../model/search/search';
import { rowOf } from '../../model/wire/graph';
import { graph } from '../../state/graph/graph';
import { scopeList } from '../../state/graph/scope_list';
import { linesByFile, showLine, sourceFiles, sourceMap } from '../../state/graph/source';
import { view } from '../../state/page/choices';
import { shownGroups } from '../../state/problems/findings';
import { wrongProblems } from '../../state/problems/problems';
import { namesOfRuns, runId, runs } from '../../state/runs';
import { goTo, selectNode } from '../../state/selection';
import { allSteps, goToStep } from '../../state/steps';
import { goToScope, searchFor, withGraph } from '../graph/canvas/navigation';
import { showRun } from '../shell/RunPicker';
import { COMMAND_LISTS } from './palette_commands';

/** One row of the palette. */
export interface Choice {
  readonly text: string;
  /** Key of a recent choice, if its text may not be unique. */
  readonly id?: string;
  readonly detail?: string;
  readonly key?: string;
  /** Text to continue typing, instead of an action. */
  readonly fill?: string;
  readonly run?: () => void;
}

export interface Source {
  readonly group: string;
  /** Maximum number of rows. */
  readonly most: number;
  readonly texts: Texts;
  /** Points that a row loses because a user is less likely to look for it. */
  readonly penalty?: (row: number) => number;
  choice(row: number): Choice;
  /** The row with an id, or with a text that has none; -1 for none. */
  rowOf(id: string): number;
  /** The meaning of a whole text, if it is explicit. */
  asked?(text: string): Choice | null;
  /** Why there are no matches. */
  lacks?(text: string): string | null;
}

/** Unique key of a choice within its source. */
export const idOf = ({ id, text }: Choice): string => id ?? text;

/** A source for a loaded list. */
function listed(group: string, most: number, choices: readonly Choice[]): Source {
  const texts = choices.map(({ text }) => text);
  return { group, most, texts, choice: (row) => choices[row]!, rowOf: (id) => choices.findIndex((choice) => idOf(choice) === id) };
}

const commands = (): Source =>
  listed(
    'Commands',
    8,
    COMMAND_LISTS.flatMap((list) => list().map(({ title, ...rest }) => ({ text: title, ...rest }))),
  );

/** These views show the selected node themselves. */
const WITH_NODE: readonly string[] = ['graph', 'table', 'source', 'stepper'];

function nodes(): Source {
  const drawn = graph.data.value;
  if (!drawn) return listed('Nodes', 0, []);
  const choice = (row: number): Choice => ({
    text: drawn.names.at(row),
    detail: drawn.opTypes.at(row),
    run: () => {
      selectNode(drawn.names.at(row));
      if (!WITH_NODE.includes(view.value)) withGraph(() => undefined);
    },
  });
  const letters = searchPenalty(drawn);
  const penalty = (row: number): number => LETTER * letters(row);
  return { group: 'Nodes', most: 8, texts: drawn.names, penalty, choice, rowOf: (text) => rowOf(drawn, text) };
}

/** Scopes of the graph. */
function scopes(): Source {
  const list = scopeList.data.value;
  if (!list) return listed('Scopes', 0, []);
  const { paths, nodes: held } = list;
  const choice = (row: number): Choice => ({
    text: paths.at(row),
    detail: counted(held[row]!, 'node'),
    run: () => goToScope(paths.at(row)),
  });
  const rowOfPath = (text: string) => Array.from(held.keys()).findIndex((row) => paths.at(row) === text);
  const penalty = (row: number): number => (/^variables\/|gradient/.test(paths.at(row)) ? LETTER : 0);
  return { group: 'Scopes', most: 4, texts: paths, penalty, choice, rowOf: rowOfPath };
}

const ops = (): Source => valuesOf('Ops', 'op', graph.data.value?.opTypes);
const layers = (): Source => valuesOf('Layers', 'layer', graph.data.value?.layers);

/** Values of a column, found by the graph's search. */
function valuesOf(group: string, field: string, column: DictColumn | undefined): Source {
  const counts = new Map<number, number>();
  for (const code of column?.codes ?? []) counts.set(code, (counts.get(code) ?? 0) + 1);
  const choices = (column?.values ?? []).flatMap((text, code) =>
    text === '' ? [] : [{ text, detail: counted(counts.get(code) ?? 0, 'node'), run: () => searchFor(`${field}:${text}`) }],
  );
  return listed(group, 4, choices);
}

/** Files of the program, and their lines that created nodes. */
function lines(): Source {
  const map = sourceMap.data.value;
  const choices = sourceFiles.value.flatMap(({ file, nodes: count }): Choice[] => {
    const inside = [...(linesByFile.value.get(file)?.values() ?? [])].sort((a, b) => a.line - b.line);
    return [
      { text: file, detail: counted(count, 'node'), run: () => showLine(file, null) },
      ...inside.map(({ line, nodes: rows, through }) => ({
        text: `${file}:${line}`,
        detail: rows.length > 0 ? counted(rows.length, 'node') : `${formatCount(through)} in calls`,
        run: () => showLine(file, line),
      })),
    ];
  });
  const lacks = (text: string) =>
    map !== null && sourceFiles.value.length === 0 && PLACE.test(text) ? 'This run has no source lines' : null;
  return { ...listed('Source', 5, choices), lacks };
}

/** Texts that can only mean a source file or line. */
const PLACE = /\.(?:py|pyx|ipynb)\b|^\s*(?:source|lines?)\b/i;

function problems(): Source {
  const found = shownGroups.value.flatMap((group) => group.findings);
  const show = (place: { graph: string; tensor: string; first_step: number }) => () =>
    goTo({ graph: place.graph, tensor: place.tensor, step: place.first_step });
  return listed('Problems', 6, [
    ...found.map((finding) => ({
      text: `${finding.rule}: ${finding.tensor}`,
      id: [finding.rule, finding.graph, finding.tensor].join(' '),
      detail: `step ${finding.first_step}`,
      run: show(finding),
    })),
    ...wrongProblems.value.map((one) => ({
      text: `${one.nan > 0 ? 'NaN' : 'Inf'} in ${one.tensor}`,
      id: [one.graph, one.tensor].join(' '),
      detail: `step ${one.first_step}`,
      run: show(one),
    })),
  ]);
}

function steps(): Source {
  const all = allSteps.value.step;
  const choice = (row: number): Choice => ({ text: `step ${all[row]}`, run: () => goToStep(all[row]!) });
  const texts = { length: all.length, at: (row: number) => `step ${all[row]}` };
  const asked = (text: string): Choice | null => {
    const wanted = Number(/^(?:step\s*)?(\d{1,15})$/i.exec(text)?.[1] ?? Number.NaN);
    const step = Number.isNaN(wanted) ? null : nearestStep(all, wanted);
    if (step === null) return null;
    const detail = step === wanted ? {} : { detail: `nearest to ${wanted}` };
    return { text: `step ${step}`, ...detail, run: () => goToStep(step) };
  };
  return { group: 'Steps', most: 4, texts, choice, rowOf: (text) => all.indexOf(Number(text.slice(5))), asked };
}

const otherRuns = (): Source =>
  listed(
    'Runs',
    5,
    runs.value.map(({ id, name, steps: of }) => ({
      text: namesOfRuns.value.get(id) ?? name,
      id,
      detail: id === runId.value ? 'current' : counted(of.count, 'step'),
      run: () => showRun(id),
    })),
  );

/** In the order for equal scores. */
const KINDS = [commands, layers, scopes, nodes, ops, lines, problems, steps, otherRuns].map((source) => computed(source));

/** Current sources; recomputed only on changes. */
export const sources = computed<readonly Source[]>(() => KINDS.map((kind) => kind.value));
