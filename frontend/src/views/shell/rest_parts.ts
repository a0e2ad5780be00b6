import { LazyParts } from '../kit/lazy';

/** Views that are not on the first screen, see views/rest.ts. */
export const rest = new LazyParts(() => import('../rest'));
