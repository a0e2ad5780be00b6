import { computed, signal } from '@preact/signals';
import type { Progress } from '../model/wire/findings';
import { hasNews } from '../model/wire/ledger';
import { view } from './choices';
import { analysedRun, settled } from './findings';
import { api } from './provider';
import { resource } from './resource';

export const ledgerProgress = signal<Progress | null>(null);

/** The ledger of dead layers; worked out only for who looks at the page of problems. */
export const ledger = resource(
  computed(() => (view.value === 'problems' ? analysedRun.value : null)),
  ({ id }, abort) => settled(() => api().ledger(id, abort), abort, ledgerProgress),
);

/** Variables whose gradients are zero or whose updates are lost, the deadest first; and how many others there are. */
export const ledgerNews = computed(() => (ledger.data.value?.entries ?? []).filter(hasNews));
export const ledgerHealthy = computed(() => (ledger.data.value?.entries.length ?? 0) - ledgerNews.value.length);
