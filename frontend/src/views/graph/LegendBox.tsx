import { textWidth } from '../../layout/scope/sizes';
import type { NodeTrends } from '../../model/wire/node_trends';
import { STATISTIC_TITLES } from '../../model/wire/value_scale';
import type { Legend, LegendItem } from '../../render/colouring';
import type { BoxStyle } from '../../render/theme';
import { legendOpen, toggleLegend } from '../../state/page/ui';

/** Legend in the graph's lower left corner. */
export function LegendBox({ legend, lines }: { legend: Legend; lines: NodeTrends | null }) {
  const open = legendOpen.value;
  return (
    <section class="graph-legend graph-card" aria-label="Legend">
      <button type="button" class="graph-legend-title" aria-expanded={open} onClick={toggleLegend}>
        {legend.title}
      </button>
      {open && (legend.kind === 'items' ? <Items items={legend.items} /> : <Scale legend={legend} />)}
      {open && lines && lines.ofNode.size > 0 && <Lines trends={lines} />}
    </section>
  );
}

function Items({ items }: { items: readonly LegendItem[] }) {
  return (
    <ul class="graph-legend-items">
      {items.map((item) => (
        <li key={item.label} class={item.count === 0 ? 'graph-none' : ''}>
          <Swatch style={item.style} marker={item.marker} />
          <span class="graph-legend-label" title={item.label}>
            {item.label}
          </span>
          <span class="graph-legend-count">{item.count.toLocaleString('en-US')}</span>
        </li>
      ))}
    </ul>
  );
}

/** A box in a colour of the graph. */
export function Swatch({ style, marker }: { style: BoxStyle; marker?: 'nan' | 'inf' | undefined }) {
  return (
    <svg class="graph-swatch" viewBox="0 0 18 12" aria-hidden="true">
      <rect x="0.75" y="1.75" width="14" height="9.5" rx="2.5" fill={style.fill} stroke={style.border} />
      {marker === 'nan' && <circle cx="14" cy="3.5" r="3" fill={style.border} />}
      {marker === 'inf' && <path d="M14 0.4 17.4 6.4H10.6Z" fill={style.border} />}
    </svg>
  );
}

const WIDTH = 188;
const MARGIN = 14;
const FONT = 9.5;
const GAP = 6;
const EDGE = 4;

function Scale({ legend }: { legend: Extract<Legend, { kind: 'scale' }> }) {
  const { colours, ticks, reach, others } = legend;
  const step = (WIDTH - 2 * MARGIN) / colours.length;
  const labels = ticks.map(({ place, label }) => {
    const x = MARGIN + place * (WIDTH - 2 * MARGIN);
    const width = textWidth(label, FONT);
    // Labels at the ends stay inside the card.
    const left = Math.max(EDGE, Math.min(WIDTH - EDGE - width, x - width / 2));
    return { x, label, left, right: left + width };
  });
  // With long numbers, every other one, so that none touch.
  const roomy = labels.every(({ left }, i) => i === 0 || left >= labels[i - 1]!.right + GAP);
  return (
    <>
      <svg
        class="graph-scale"
        viewBox={`0 0 ${WIDTH} 28`}
        role="img"
        aria-label={`${legend.title}: ${ticks[0]?.label} to ${ticks[ticks.length - 1]?.label}`}
      >
        {colours.map((colour, i) => (
          <rect key={colour} x={MARGIN + i * step} y="0" width={step + 0.6} height="10" fill={colour} />
        ))}
        {labels.map(({ x, label, left, right }, i) => (
          <g key={x}>
            <line x1={x} x2={x} y1="10" y2="13" />
            {(roomy || i % 2 === 0) && (
              <text x={(left + right) / 2} y="24" text-anchor="middle">
                {label}
              </text>
            )}
          </g>
        ))}
      </svg>
      {reach !== '' && <div class="graph-legend-note">{reach}</div>}
      {others.map(({ label, style, marker }) => (
        <div key={label} class="graph-legend-note">
          <Swatch style={style} marker={marker} /> {label}
        </div>
      ))}
    </>
  );
}

/** Legend of the trends in nodes, if there are any. */
function Lines({ trends: { statistic, first, last } }: { trends: NodeTrends }) {
  return (
    <div class="graph-legend-note graph-legend-lines" title={`Sparklines: steps ${first}–${last}`}>
      <svg class="graph-swatch" viewBox="0 0 18 12" aria-hidden="true">
        <path d="M1 9 5 6.5 9 8 13 3.5 17 5" />
      </svg>
      {STATISTIC_TITLES[statistic]} over steps
    </div>
  );
}
