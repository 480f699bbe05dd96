"""The colours of a report, and the style sheet of its page: for screens of any width, and paper.

Blue and orange stay apart for colour-blind eyes and in grey print. Every colour that carries text
has a contrast of at least 4.5 against the page.
"""

from __future__ import annotations

PAPER = "#ffffff"
INK = "#1f2328"
SOFT = "#57606a"
BLUE = "#0072b2"
ORANGE = "#e69f00"
RULE = "#d0d7de"
GROUND = "#f6f8fa"
GOOD = "#0b6b43"
GOOD_GROUND = "#e9f6ef"
BAD = "#a11d00"
BAD_GROUND = "#fdf0ec"
NOTE = "#7a4b00"
NOTE_GROUND = "#fff6e0"

SERIES = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""In the order of Okabe and Ito's palette for all kinds of colour vision, blue first."""

TEXT_ON = (
    (INK, PAPER),
    (INK, GROUND),
    (SOFT, PAPER),
    (SOFT, GROUND),
    (GOOD, GOOD_GROUND),
    (BAD, BAD_GROUND),
    (NOTE, NOTE_GROUND),
    (GOOD, PAPER),
    (BAD, PAPER),
    (NOTE, PAPER),
    (BLUE, PAPER),
)
"""Every pair of a text's colour and what it stands on."""

STYLE = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: {PAPER}; color: {INK};
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
header, main, footer {{ max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }}
header {{ padding-top: 2.5rem; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.35rem; line-height: 1.25; margin: 2.6rem 0 .7rem; padding-top: 1rem;
  border-top: 1px solid {RULE}; }}
h3 {{ font-size: 1.02rem; margin: 1.6rem 0 .3rem; }}
p {{ margin: .6rem 0; max-width: 46rem; overflow-wrap: break-word; }}
.subtitle, figcaption, .caption {{ color: {SOFT}; }}
.edition {{ display: inline-block; margin: .3rem 0 0; padding: .1rem .6rem; border-radius: 1rem;
  border: 1px solid {RULE}; background: {GROUND}; color: {INK}; font-size: .85rem; }}
.good, .bad, .note {{ padding: .6rem .9rem; border-left: .3rem solid; border-radius: .2rem;
  max-width: 46rem; }}
.good {{ color: {GOOD}; background: {GOOD_GROUND}; }}
.bad {{ color: {BAD}; background: {BAD_GROUND}; }}
.note {{ color: {NOTE}; background: {NOTE_GROUND}; }}
nav ol {{ margin: 1rem 0 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap;
  gap: .2rem 1.1rem; font-size: .92rem; }}
a {{ color: {BLUE}; }}
dl.figures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr));
  gap: .8rem; margin: 1rem 0; }}
dl.figures > div {{ border: 1px solid {RULE}; border-radius: .4rem; padding: .7rem .9rem;
  background: {PAPER}; display: flex; flex-direction: column; }}
dl.figures dt {{ font-size: .88rem; color: {SOFT}; }}
dl.figures dd {{ margin: 0; }}
dl.figures .value {{ font-size: 1.55rem; line-height: 1.25; font-weight: 650;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
dl.figures .about {{ font-size: .85rem; color: {SOFT}; }}
dl.figures .is-good .value {{ color: {GOOD}; }}
dl.figures .is-bad .value {{ color: {BAD}; }}
dl.figures .is-note .value {{ color: {NOTE}; }}
ul.points {{ padding-left: 1.1rem; max-width: 46rem; }}
ul.points li {{ margin: .5rem 0; }}
.scroll {{ overflow-x: auto; margin: .8rem 0 1.2rem; }}
table {{ border-collapse: collapse; font-size: .92rem; min-width: 100%; }}
caption {{ text-align: left; max-width: calc(100vw - 2.5rem); font-weight: 650;
  padding: 0 0 .35rem; color: {INK}; }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .7rem .4rem 0;
  border-bottom: 1px solid {RULE}; overflow-wrap: break-word; min-width: 4rem; }}
.prose {{ min-width: 15rem; }}
thead th {{ color: {SOFT}; font-weight: 600; vertical-align: bottom; }}
tbody th {{ font-weight: 500; }}
tbody th:not(.number) {{ min-width: 8rem; }}
.number:first-child {{ text-align: left; min-width: 3rem; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; padding-right: 1.1rem; }}
.number:last-child {{ padding-right: .2rem; }}
td.mono {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .8rem;
  overflow-wrap: anywhere; min-width: 12rem; }}
figure {{ margin: 1.1rem 0 1.4rem; }}
figure .drawing {{ overflow-x: auto; }}
figure svg {{ display: block; width: 100%; max-width: 40rem; height: auto; }}
figure.flow svg {{ max-width: 100%; }}
details {{ font-size: .92rem; margin-top: .3rem; }}
summary {{ cursor: pointer; color: {BLUE}; width: max-content; max-width: 100%; }}
footer {{ margin-top: 3rem; padding-bottom: 3rem; color: {SOFT}; font-size: .88rem; }}
@media (max-width: 40rem) {{
  body {{ font-size: 15px; }}
  header {{ padding-top: 1.4rem; }}
  h1 {{ font-size: 1.5rem; }}
  dl.figures {{ grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .5rem; }}
  dl.figures > div {{ padding: .5rem .6rem; }}
  dl.figures .value {{ font-size: 1.25rem; }}
  figure.flow svg {{ width: auto; max-width: none; }}
  th, td {{ min-width: 3.4rem; }}
  tbody th:not(.number) {{ min-width: 6.5rem; }}
}}
@media print {{
  @page {{ size: A4; margin: 16mm 15mm 18mm; }}
  body {{ font-size: 10pt; }}
  header, main, footer {{ max-width: none; padding: 0; }}
  nav, details {{ display: none; }}
  a {{ color: {INK}; text-decoration: none; }}
  h2 {{ break-after: avoid; margin-top: 1.4rem; }}
  h3, caption {{ break-after: avoid; }}
  h2 + p {{ break-after: avoid; }}
  tbody tr:nth-child(-n + 2) {{ break-before: avoid; }}
  figure, tr, p, li, dl.figures > div {{ break-inside: avoid; }}
  .scroll, figure .drawing {{ overflow: visible; }}
  figure:not(.flow) svg {{ max-width: 12.5cm; }}
  figure.flow svg {{ max-width: 100%; }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
""".strip()
