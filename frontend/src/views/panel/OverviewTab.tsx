import { node } from '../../state/graph/node';
import { sideBySide } from '../../state/tensors/pins';
import { Prose } from '../kit/Prose';
import { Connections } from './Connections';
import { SideBySide } from './SideBySide';
import { SummarySection } from './SummarySection';

/** Overview of a node: its numbers at this step, its connections, its attributes. If enlarged, pinned tensors are beside it. */
export function OverviewTab() {
  const detail = node.data.value;
  if (sideBySide.value) return <SideBySide />;
  return (
    <div class="tab-body">
      <SummarySection />
      {detail && (
        <>
          <Connections detail={detail} />
          <Attributes attributes={detail.attributes} facts={facts(detail)} />
        </>
      )}
    </div>
  );
}

/** Purpose of a node with a cryptic name (FORMAT.md). */
const MEANING = 'tensortap.meaning';

function facts(detail: NonNullable<typeof node.data.value>): [string, string][] {
  const rows: [string, string][] = [
    ['purpose', detail.attributes[MEANING] ?? ''],
    ['function', detail.function],
    ['device', detail.device],
    ['layer', detail.layer],
    ['drawn at', detail.path === detail.name ? '' : detail.path],
    ...detail.calls.map((call): [string, string] => [`calls (${call.role})`, call.function]),
  ];
  return rows.filter(([, value]) => value !== '');
}

function Attributes({ attributes, facts: rows }: { attributes: Record<string, string>; facts: [string, string][] }) {
  const all = [...rows, ...Object.entries(attributes).filter(([name]) => name !== MEANING)];
  if (all.length === 0) return null;
  return (
    <section class="section">
      <h3>Attributes</h3>
      <dl class="facts">
        {all.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">
              <Prose text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
