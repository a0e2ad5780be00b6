import { csvText, downloadText } from '../../lib/download';
import { tensorFile } from '../../model/value/file_names';
import type { Histograms } from '../../model/wire/answers';
import { chosenVisit } from '../../state/choices';
import { IconButton } from '../kit/Button';

/** The histograms as numbers: one row a bucket and step. */
export function HistogramDownload({ histograms }: { histograms: Histograms }) {
  const save = () => {
    const { edges, rows, tensor } = histograms;
    const lines = rows.flatMap((row) => row.counts.map((count, i) => [row.step, edges[i] as number, edges[i + 1] as number, count]));
    downloadText(
      `${tensorFile({ tensor, visit: chosenVisit.value, what: 'histograms' })}.csv`,
      csvText(['step', 'left', 'right', 'count'], lines),
      'text/csv',
    );
  };
  return <IconButton small icon="download" label="Download the histograms as CSV" onClick={save} />;
}
