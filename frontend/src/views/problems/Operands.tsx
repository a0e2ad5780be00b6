import { counted, formatCount, formatNumber } from '../../lib/format';
import type { Measured, Operand, Origin } from '../../model/wire/findings';
import { TensorLink } from './PlaceLinks';

/** The numbers behind a origin: what came out, and what went in. */
export function Operands({ origin }: { origin: Origin }) {
  const rows = [{ role: 'output', operand: origin.output }, ...origin.inputs.map((operand) => ({ role: 'input', operand }))];
  return (
    <table class="operands">
      <thead class="offscreen">
        <tr>
          <th>role</th>
          <th>tensor</th>
          <th>numbers</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ role, operand }, i) => (
          <tr key={`${i} ${operand.tensor}`}>
            <td class="faint">{role}</td>
            <td>
              <TensorLink
                place={{ graph: origin.graph, tensor: operand.tensor, step: origin.step, visit: operand.visit }}
                {...(operand.kept && { tab: 'value' })}
              />
            </td>
            <td class="num">{numbers(operand)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function numbers(operand: Operand): string {
  if (!operand.known) return 'not captured';
  const inf = operand.pos_inf + operand.neg_inf;
  const counts = [
    operand.nan > 0 && `${formatCount(operand.nan)} NaN`,
    inf > 0 && `${formatCount(inf)} Inf`,
    operand.zero > 0 && counted(operand.zero, 'zero'),
  ].filter(Boolean);
  const finite = operand.size - operand.nan - inf;
  const range = finite > 0 ? `${measured(operand.min)} … ${measured(operand.max)}` : 'nothing finite';
  return [
    counts.length > 0 ? `${counts.join(', ')} of ${formatCount(operand.size)}` : `${formatCount(operand.size)}, all finite`,
    range,
  ].join('; ');
}

export const measured = (value: Measured): string => formatNumber(Number(value));
