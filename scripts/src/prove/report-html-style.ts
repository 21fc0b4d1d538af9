/** Style of report.html: system fonts, both colour schemes, readable in print and without colour. */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d8dee4;--code:#eef1f4;--accent:#3b5bdb;
--good:#1a7f47;--good-bg:#e3f5ea;--bad:#b3261e;--bad-bg:#fce8e6;--waiting:#8a5a00;--waiting-bg:#fdf1d8;--neutral:#59636e;--neutral-bg:#eceff2}
@media (prefers-color-scheme:dark){:root{--bg:#0f1318;--card:#171c23;--ink:#e6eaef;--soft:#9aa6b2;--line:#2b333d;--code:#212933;--accent:#91a7ff;
--good:#6fdc9a;--good-bg:#12301f;--bad:#ff9b92;--bad-bg:#3a1a18;--waiting:#f3c667;--waiting-bg:#352809;--neutral:#9aa6b2;--neutral-bg:#222a33}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible,pre:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem 1rem;z-index:1}
.top,.layout,footer{max-width:1240px;margin:0 auto;padding:0 1.5rem}
.top{padding-top:1.75rem}
.brand{color:var(--soft);font-size:.85rem;font-weight:600;letter-spacing:.02em}.mark{color:var(--accent)}
h1{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem;margin:.5rem 0 1rem;font-size:1.75rem;line-height:1.25;letter-spacing:-.01em}
h2{margin:0 0 .85rem;font-size:1.15rem}
h3{margin:1.25rem 0 .5rem;font-size:.95rem}
.pill{padding:.2rem .8rem;border-radius:999px;font-size:.95rem;font-weight:650;letter-spacing:0}
.badge{display:inline-block;padding:.05rem .5rem;border-radius:999px;font-size:.8rem;font-weight:600;white-space:nowrap}
.tone-good{color:var(--good);background:var(--good-bg)}.tone-bad{color:var(--bad);background:var(--bad-bg)}
.tone-waiting{color:var(--waiting);background:var(--waiting-bg)}.tone-neutral{color:var(--neutral);background:var(--neutral-bg)}
.notice{margin:.5rem 0;padding:.65rem 1rem;border-radius:10px;border-left:4px solid currentColor}
.notice code{background:transparent;color:inherit;border:1px solid currentColor}
.layout{display:grid;grid-template-columns:190px minmax(0,1fr);gap:2rem;margin-top:1.5rem}
nav{position:sticky;top:1rem;align-self:start;max-height:calc(100vh - 2rem);overflow:auto;font-size:.88rem}
nav ul{list-style:none;margin:0;padding:0}nav a{display:block;padding:.28rem .6rem;border-radius:6px;color:var(--soft);text-decoration:none}
nav a:hover{background:var(--neutral-bg);color:var(--ink)}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.25rem 1.4rem;margin-bottom:1.25rem}
p{margin:.5rem 0}
ul{margin:.5rem 0;padding-left:1.25rem}li{margin:.2rem 0}
code{font:.86em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);padding:.1em .35em;border-radius:5px}
pre{margin:.6rem 0;padding:.8rem 1rem;background:var(--code);border-radius:10px;overflow:auto;overflow-wrap:normal}pre code{background:none;padding:0}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:.9rem 1.75rem;margin:0}
dt{color:var(--soft);font-size:.78rem;font-weight:600;text-transform:uppercase;letter-spacing:.04em}dd{margin:.1rem 0 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.5rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-size:.78rem;font-weight:600;white-space:nowrap}tbody tr:last-child td{border-bottom:0}
td{min-width:4.5rem;overflow-wrap:break-word}td:first-child{min-width:2rem}td code{white-space:nowrap}
details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
summary{padding:.6rem .2rem;cursor:pointer;font-weight:600}details ul{margin:.1rem 0 .9rem}
.graph{margin:0}.graph svg{display:block;max-width:none}.graph svg.fit{max-width:100%;height:auto;min-width:560px}figcaption{margin-top:.6rem;color:var(--soft);font-size:.82rem}
.edge{fill:none;stroke:var(--soft);stroke-width:1.4;opacity:.75}#arrow path{fill:var(--soft)}
.node .card{fill:var(--bg);stroke:var(--line);stroke-width:1.2}.node.critical .card{stroke:var(--soft);stroke-width:2}
.node .bar{fill:currentColor}.node .id{fill:var(--ink);font:600 12.5px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.node .state{fill:currentColor;font:600 11.5px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
footer{padding-bottom:2rem;color:var(--soft);font-size:.82rem}
@media (max-width:860px){.layout{grid-template-columns:minmax(0,1fr)}nav{position:static;max-height:none}nav ul{display:flex;flex-wrap:wrap;gap:.15rem}}
@media print{body{background:#fff}nav,.skip{display:none}.layout{display:block}section{break-inside:avoid-page;border:0;padding:0 0 1rem}details::details-content{content-visibility:visible}.tone-good,.tone-bad,.tone-waiting,.tone-neutral{border:1px solid currentColor}}
`;
