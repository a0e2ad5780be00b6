import { CARD_COLOUR_TITLES, CARD_COLOURS, type CardColour } from '../../model/layers/card_statistics';
import { NODE_STATISTICS, STATISTIC_TITLES } from '../../model/wire/value_scale';
import { cardColour, colour, view } from '../../state/page/choices';
import { healthChosen, timelineStatistic } from '../../state/tensors/timeline';
import { Select } from '../kit/Button';

const KINDS = [
  { value: 'health', label: 'Health' },
  { value: 'size', label: 'Size' },
  { value: 'op', label: 'Op type' },
  { value: 'dtype', label: 'Dtype' },
  { value: 'layer', label: 'Layer' },
  { value: 'device', label: 'Device' },
  { value: 'difference', label: 'Difference vs. run B' },
];

/** All of them. */
export const COLOURINGS: readonly { value: string; label: string }[] = [
  ...KINDS,
  ...NODE_STATISTICS.map((name) => ({ value: `statistic:${name}`, label: STATISTIC_TITLES[name] })),
];

/** Menu for the colouring of the graph. */
export function ColourControl() {
  const statistic = view.value === 'timeline' ? timelineStatistic.value : null;
  const shown = statistic === null ? colour.value : `statistic:${statistic}`;
  return (
    <Select
      label="Colour by"
      value={shown}
      onChange={(value) => {
        healthChosen.value = value === 'health';
        colour.value = value;
      }}
      testid="colour-by"
    >
      {KINDS.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
      <optgroup label="Statistic at this step">
        {NODE_STATISTICS.map((name) => (
          <option key={name} value={`statistic:${name}`}>
            {STATISTIC_TITLES[name]}
          </option>
        ))}
      </optgroup>
    </Select>
  );
}

/** Menu for the colouring of the cards. */
export function CardColourControl() {
  return (
    <Select
      label="Colour by"
      value={cardColour.value}
      onChange={(value) => {
        cardColour.value = value as CardColour;
      }}
      testid="shade"
    >
      {CARD_COLOURS.map((value) => (
        <option key={value} value={value}>
          {CARD_COLOUR_TITLES[value]}
        </option>
      ))}
    </Select>
  );
}
