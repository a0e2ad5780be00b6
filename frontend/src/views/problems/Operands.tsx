import type { Origin } from '../../model/wire/findings';
import { TensorLink } from './PlaceLinks';

/** The numbers behind an origin: output and inputs. */
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
                place={{ graph: operand.graph || origin.graph, tensor: operand.tensor, step: origin.step, visit: operand.visit }}
                {...(operand.kept && { tab: 'value' })}
              />
            </td>
            <td class="num">{operand.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
