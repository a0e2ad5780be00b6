/// <reference types="vite/client" />

declare module 'virtual:plotly.css';
