/** Runs the layout outside the page's thread. */

import type { LayoutRequest } from './messages';
import { LayoutSession } from './session';

const scope = self as unknown as DedicatedWorkerGlobalScope;
const session = new LayoutSession((reply) => scope.postMessage(reply));
scope.onmessage = (event: MessageEvent<LayoutRequest>) => void session.receive(event.data);
