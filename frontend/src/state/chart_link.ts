import { computed } from '@preact/signals';
import { type ChartChoices, NO_CHART_CHOICES } from '../model/charts/chart_choices';
import { chosenTensor, panelTab, pins } from './choices';
import { comparing } from './pins';
import { comparedStatistic, histogramMode, histogramScale, historyBand, historyLog, historyView } from './preferences';

/** The charts' part of the address: how that is drawn which is on show. This browser remembers it for all tensors. */
export const chartLink = computed<ChartChoices>(() => {
  if (chosenTensor.value === null) return NO_CHART_CHOICES;
  if (panelTab.value === 'histogram') return { ...NO_CHART_CHOICES, chart: histogramMode.value, axis: histogramScale.value };
  if (panelTab.value !== 'history') return NO_CHART_CHOICES;
  const history = {
    ...NO_CHART_CHOICES,
    log: historyLog.value ? '1' : '0',
    histories: pins.value.length > 0 ? historyView.value : null,
  } as const;
  return comparing.value ? { ...history, by: comparedStatistic.value } : { ...history, band: historyBand.value };
});

/** Takes up what an address says of the charts. */
export function applyChartLink({ chart, axis, band, log, histories, by }: ChartChoices): void {
  if (chart !== null) histogramMode.value = chart;
  if (axis !== null) histogramScale.value = axis;
  if (band !== null) historyBand.value = band;
  if (log !== null) historyLog.value = log === '1';
  if (histories !== null) historyView.value = histories;
  if (by !== null) comparedStatistic.value = by;
}
