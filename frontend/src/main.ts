import { mount } from './mount';

const page = document.getElementById('app');
if (page) void mount(page);
