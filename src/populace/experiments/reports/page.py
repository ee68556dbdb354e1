"""The page of a report: one file that asks nobody for anything."""

from __future__ import annotations

import html
from collections.abc import Sequence

from populace.experiments.reports.blocks import Block

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d8dde3; --panel: #f5f7f9;
  --good: #00694d; --bad: #b04a00; --blue: #0064a0; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e9ec; --soft: #a3adb7; --line: #3a424a;
  --panel: #1d2226; --good: #4cc79f; --bad: #ff9e57; --blue: #6cb8f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .35rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .75rem; padding-top: .9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0 .9rem; }
.question { font-size: 1.2rem; margin: 0 0 .25rem; }
.soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
.summary { background: var(--panel); border-left: 4px solid var(--blue); padding: .9rem 1.1rem; margin: 1.25rem 0;
  border-radius: 0 6px 6px 0; }
.summary ul { margin: .4rem 0; padding-left: 1.2rem; }
.summary p:last-child, .summary ul:last-child { margin-bottom: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; margin: .5rem 0 1rem; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
th { font-weight: 600; white-space: nowrap; }
td.long { min-width: 18rem; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }
figure { margin: 1.25rem 0 1.5rem; }
figure svg { display: block; width: 100%; min-width: 24rem; max-width: 46rem; height: auto; color: var(--ink); }
figcaption { margin-top: .4rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  overflow-x: auto; font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: normal; }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--blue); }
.card { list-style: none; padding: 0; margin: 1rem 0; }
.card li { display: grid; grid-template-columns: 8.2rem 1fr; gap: .5rem; padding: .55rem 0;
  border-bottom: 1px solid var(--line); }
.card p { margin: .1rem 0 0; color: var(--soft); font-size: .9rem; }
.card .bar { color: var(--soft); font-size: .85rem; border: 1px solid var(--line); border-radius: 1rem;
  padding: 0 .55rem; margin-left: .35rem; white-space: nowrap; display: inline-block; }
.mark { font-size: .9rem; color: var(--soft); white-space: nowrap; }
.pass .mark { color: var(--good); }
.fail .mark { color: var(--bad); font-weight: 700; }
.warnings { background: var(--panel); border-left: 4px solid var(--bad); margin: 1rem 0;
  padding: .8rem 1rem .8rem 2.2rem; border-radius: 0 6px 6px 0; }
@media (max-width: 34rem) { body { padding: 1.5rem 1rem 3rem; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .6rem; } .card li { grid-template-columns: 1fr; gap: .1rem; }
  .card .bar { margin-left: 0; white-space: normal; } }
@media print { :root { --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --panel: #f4f4f4; --good: #00513c;
  --bad: #8a3a00; --blue: #004b78; } body { max-width: none; padding: 0; font-size: 10.5pt; }
  figure, table, .card li, .summary { break-inside: avoid; } h2, h3 { break-after: avoid; } .wide { overflow: visible; }
  summary { color: inherit; } pre { white-space: pre-wrap; } }
"""


def html_page(title: str, lead: Sequence[Block], summary: Sequence[Block], body: Sequence[Block]) -> str:
    """A whole page.

    Args:
        title: Of the page.
        lead: What stands first.
        summary: What stands in the box below it.
        body: The rest.
    """
    parts = ["\n".join(block.html() for block in blocks) for blocks in (lead, summary, body)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{parts[0]}\n"
        f'<div class="summary">\n{parts[1]}\n</div>\n{parts[2]}\n</main>\n</body>\n</html>\n'
    )


def markdown_text(blocks: Sequence[Block], figures: str) -> str:
    """The same as Markdown."""
    return "\n\n".join(block.markdown(figures) for block in blocks) + "\n"
