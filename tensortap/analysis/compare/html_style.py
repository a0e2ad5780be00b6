"""How the report of a comparison looks, by light and by dark."""

STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1b232c; --faint: #66717e; --head: #f1f4f7;
  --line: #dfe4ea; --differ: #b3261e; --agree: #1b6e3c; --note: #7a5b00;
  --diverges: #fde3e1; --amplified: #feeedd; --inherited: #fff7dc; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --text: #e3e8ee; --faint: #96a2af;
  --head: #222931; --line: #303943; --differ: #ff8a80; --agree: #7fd49b; --note: #e3c26b;
  --diverges: #4f2421; --amplified: #493118; --inherited: #3b3415; } }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem;
  background: var(--page); color: var(--text); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; max-width: 80rem; }
.differ { color: var(--differ); } .agree { color: var(--agree); } .note { color: var(--note); }
.scroll { overflow: auto; max-height: 80vh; } code { font-size: .95em; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--head); z-index: 1; } th.text, td.text { text-align: left; }
td { background: var(--page); }
th.verdict, td.verdict { position: sticky; left: 0; } th.verdict { z-index: 2; }
td.name { max-width: 34rem; white-space: normal; overflow-wrap: anywhere; min-width: 20rem; }
tr.diverges td { background: var(--diverges); } tr.amplified td { background: var(--amplified); }
tr.inherited td { background: var(--inherited); } tr.same td, tr.noise td { color: var(--faint); }
tr.first td { font-weight: 600; } summary { cursor: pointer; font-weight: 600; margin: 1.5rem 0 .5rem; }
"""
