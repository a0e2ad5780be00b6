import { begin } from './begin';

// While the rest of the code is loading.
const provider = begin();
const page = document.getElementById('app');
if (page) void import('./mount').then(({ mount }) => mount(page, provider));
