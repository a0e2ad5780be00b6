import { signal } from '@preact/signals';
import { NO_WHAT_IFS, type WhatIfs } from '../model/what_ifs';

/** The what-ifs of the recording on show. */
export const shownWhatIfs = signal<WhatIfs>(NO_WHAT_IFS);
