import { csvText, downloadText } from '../../lib/download';
import { tensorFile } from '../../model/value/file_names';
import type { History } from '../../model/wire/answers';
import { COUNTS, STATISTICS } from '../../model/wire/statistics';
import { chosenVisit } from '../../state/choices';
import { IconButton } from '../kit/Button';

/** The history as a table of numbers, one row a snapshot. */
export function HistoryDownload({ history }: { history: History }) {
  const save = () => {
    const measures = ['size', ...COUNTS, ...STATISTICS] as const;
    const rows = history.rows.map((row) => [
      row.step,
      row.visit,
      row.worker,
      row.dtype,
      row.shape.join('x'),
      ...measures.map((name) => row[name]),
    ]);
    const text = csvText(['step', 'visit', 'worker', 'dtype', 'shape', ...measures], rows);
    downloadText(`${tensorFile({ tensor: history.tensor, visit: chosenVisit.value, what: 'history' })}.csv`, text, 'text/csv');
  };
  return <IconButton small icon="download" label="Download the statistics as CSV" onClick={save} />;
}
