/** Layered layout of one connected piece: ranks, order, x, rows, routes. Deterministic; time about linear in edges. */

import { floats } from '../lib/numbers';
import { reduceCrossings } from './crossings';
import { placeHorizontally } from './horizontal';
import { buildLevels } from './levels';
import type { Placement, Problem } from './problem';
import { assignRanks } from './ranks';
import { routeEdges } from './routes';
import { placeRows } from './rows';

export function layered(problem: Problem): Placement {
  const { count, width, height } = problem;
  if (count === 1) return { width: width[0]!, height: height[0]!, x: [width[0]! / 2], y: [height[0]! / 2], routes: [] };
  const ranks = assignRanks(count, problem.source, problem.target, problem.weight);
  const levels = buildLevels(count, ranks);
  reduceCrossings(levels);
  const x = placeHorizontally(problem, levels);
  const rows = placeRows(problem, levels, x);
  const y = floats(levels.count);
  for (let v = 0; v < levels.count; v++) {
    const rank = levels.rank[v]!;
    y[v] = rows.top[rank]! + rows.height[rank]! / 2;
    x[v]! += rows.columns[rows.columnOf[rank]!]!.shift;
  }
  const routes = routeEdges(problem, ranks, levels, rows, x, y);
  return { width: rows.width, height: rows.total, x, y, routes };
}
