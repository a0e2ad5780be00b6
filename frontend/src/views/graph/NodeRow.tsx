import type { GraphData } from '../../model/wire/graph';
import { splitScope } from '../../model/wire/names';
import { CutPath } from '../kit/LongName';

interface NodeRowProps {
  graph: GraphData;
  row: number;
  current: boolean;
  testid: string;
  onChoose: () => void;
}

/** A node in a list over the graph: label, op type, and the scope it is in. */
export function NodeRow({ graph, row, current, testid, onChoose }: NodeRowProps) {
  const name = graph.names.at(row);
  // An argument that TensorFlow calls unknown or …_resource has the name of its variable in its path.
  const { scope, label } = splitScope(/(^|\/)unknown(_\d+)?$|_resource$/.test(name) ? graph.paths.at(row) : name);
  return (
    <button type="button" class="graph-result" data-testid={testid} aria-current={current} onClick={onChoose}>
      <span>{label}</span>
      <span class="graph-result-type">{graph.opTypes.at(row)}</span>
      {scope && <CutPath path={scope.replace(/\/$/, '')} class="graph-result-scope" />}
    </button>
  );
}
