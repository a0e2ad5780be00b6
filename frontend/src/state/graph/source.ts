import { batch, computed, signal } from '@preact/signals';
import { filesByNodes, filesCalled, healthByNode, linesOfFiles, parsePlace, type SourceLine } from '../../model/run/source_lines';
import { sourcePlace, view } from '../page/choices';
import { report } from '../problems/findings';
import { api } from '../provider';
import { resource } from '../resource';
import { graphId, runDetail, runId } from '../runs';
import { graph, overlay } from './graph';
import { node } from './node';

/** Whether source lines are needed outside the source view: for a search. */
export const linesWanted = signal(false);

/** The user's program with the nodes of each line. Fetched while visible, or when lines are searched. */
export const sourceMap = resource(
  computed(() => {
    const entry = runDetail.value?.graphs.find((candidate) => candidate.id === graphId.value);
    if ((view.value !== 'source' && !linesWanted.value) || runId.value === null || !entry) return null;
    const subject = `${runId.value} ${entry.id}`;
    return { key: `${subject} ${entry.nodes}`, subject, run: runId.value, graph: entry.id };
  }),
  (wanted, abort) => api().sources(wanted.run, wanted.graph, abort),
);

export const sourceFiles = computed(() => (sourceMap.data.value ? filesByNodes(sourceMap.data.value) : []));

/** The innermost line of the selected node. */
const selectedFrame = computed(() => node.data.value?.stack.at(-1) ?? null);

/** The files that match the chosen place; null if none is chosen. */
export const askedFiles = computed(() =>
  sourcePlace.value === '' ? null : filesCalled(sourceFiles.value, parsePlace(sourcePlace.value).file),
);

/** The displayed place: the chosen one, else that of the selected node, else of the first NaN, else the file that created most nodes. */
export const place = computed(() => {
  if (askedFiles.value !== null) {
    const { file, line } = parsePlace(sourcePlace.value);
    return { file: askedFiles.value.length === 1 ? askedFiles.value[0]!.file : file, line };
  }
  const frame = selectedFrame.value;
  if (frame) return { file: frame.file, line: frame.line };
  const origin = report.value?.origins[0]?.frame;
  if (origin && sourceFiles.value.some(({ file }) => file === origin.file)) return { file: origin.file, line: origin.line };
  return { file: sourceFiles.value[0]?.file ?? '', line: null };
});

const shownFile = computed(() => sourceFiles.value.find(({ file }) => file === place.value.file) ?? null);

export const sourceText = resource(
  computed(() => {
    if (runId.value === null || !shownFile.value?.embedded) return null;
    const key = `${runId.value} ${shownFile.value.file}`;
    return { key, subject: key, run: runId.value, file: shownFile.value.file };
  }),
  (wanted, abort) => api().source(wanted.run, wanted.file, abort),
);

/** Lines of each file that made nodes, by the file's name. */
export const linesByFile = computed(() => {
  const map = sourceMap.data.value;
  const lines = map ? linesOfFiles(map) : [];
  return new Map(lines.map((made, i) => [map!.files[i]!.file, made]));
});

export const sourceLines = computed(() => linesByFile.value.get(place.value.file) ?? new Map<number, SourceLine>());

export const nodeHealth = computed(() => healthByNode(graph.data.value?.nodeCount ?? 0, overlay.data.value));

export function showLine(file: string, line: number | null): void {
  batch(() => {
    sourcePlace.value = line === null ? file : `${file}:${line}`;
    view.value = 'source';
  });
}
