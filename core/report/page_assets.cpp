#include "core/report/page_assets.h"

namespace wam {

const char* const kReportStyle = R"css(
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1f2430;--soft:#667085;--rule:#e6e8ee;
--c1:#2563eb;--c2:#d9730d;--c3:#0f9d76;--c4:#8a93a6;--bad:#c2352b}
@media (prefers-color-scheme:dark){:root{--bg:#12151b;--card:#1b1f28;--ink:#e7eaf0;--soft:#98a2b3;
--rule:#2c323e;--c1:#6ea0ff;--c2:#f2a04f;--c3:#45c9a0;--c4:#8b94a7;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{max-width:1360px;margin:0 auto;padding:28px 24px 64px}
h1{font-size:26px;line-height:1.2;margin:0 0 2px;letter-spacing:-.01em}
h2{font-size:18px;margin:36px 0 12px}
p{margin:0 0 12px;color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0 0}
.tile,figure,.card{background:var(--card);border:1px solid var(--rule);border-radius:10px}
.tile{padding:12px 14px}
.tile small{display:block;color:var(--soft);font-size:12.5px}
.tile b{font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
.tile.bad b{color:var(--bad)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:16px}
figure{margin:0;padding:14px 14px 8px;position:relative}
figcaption{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline;margin-bottom:6px}
figcaption small{color:var(--soft)}
.keys{margin-left:auto;display:flex;gap:14px;font-size:13px;color:var(--soft)}
.key i{display:inline-block;width:16px;height:3px;border-radius:2px;margin-right:6px;vertical-align:3px;
background:currentColor}
.key.c1 i{background:var(--c1)}.key.c2 i{background:var(--c2)}.key.c3 i{background:var(--c3)}
.key.c4 i{background:var(--c4)}
.key.dashed i{background:repeating-linear-gradient(90deg,var(--c4) 0 5px,transparent 5px 8px)}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font-family:inherit;fill:var(--ink)}
svg .tick{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .name{font-size:11.5px;font-weight:600}
.actions .tick{font-size:10px}
.grid{stroke:var(--rule)}.axis{stroke:var(--soft);stroke-opacity:.6}
.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.line.c1{stroke:var(--c1)}.line.c2{stroke:var(--c2)}.line.c3{stroke:var(--c3)}.line.c4{stroke:var(--c4)}
.line.faint{stroke-width:1;stroke-opacity:.28}.line.dashed{stroke-dasharray:6 5}
.dot.c1,.area.c1{fill:var(--c1)}.dot.c2,.area.c2{fill:var(--c2)}.dot.c3,.area.c3{fill:var(--c3)}
.dot.c4,.area.c4{fill:var(--c4)}.dot.faint{fill-opacity:.4}.area{fill-opacity:.75}
.line.truth{stroke:var(--c4)}.line.prediction{stroke:var(--c1)}
.cursor{stroke:var(--soft);stroke-dasharray:2 3}
.tip{position:absolute;z-index:2;pointer-events:none;background:var(--ink);color:var(--card);
font-size:12.5px;line-height:1.45;padding:6px 9px;border-radius:6px;white-space:nowrap;
font-variant-numeric:tabular-nums}
.card{padding:14px 16px;margin-bottom:16px}
.windows{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,600px),1fr));gap:16px}
.windows .card{margin:0;min-width:0}.wide{grid-column:1/-1}
.card h3{font-size:15px;margin:0 0 2px}
.scroll{overflow-x:auto}
.scroll svg{min-width:520px}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
th,td{padding:5px 18px 5px 0;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--soft);font-weight:500}
th:first-child,td:first-child{text-align:left}
tr:last-child td{border-bottom:0}
pre{margin:0;overflow:auto;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (max-width:560px){main{padding:18px 12px 40px}.keys{margin-left:0}}
@media print{body{background:#fff}figure,.card{break-inside:avoid}}
)css";

const char* const kReportScript = R"js(
"use strict";
const NS = "http://www.w3.org/2000/svg";
function nearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle; else high = middle;
  }
  return Math.abs(xs[low] - x) <= Math.abs(xs[high] - x) ? low : high;
}
function shown(value, percent) {
  if (value === null) return "not finite";
  return percent ? (100 * value).toFixed(1) + " %" : String(+value.toPrecision(4));
}
function follow(svg) {
  const data = JSON.parse(svg.dataset.hover), figure = svg.parentElement;
  const cursor = document.createElementNS(NS, "line"), tip = document.createElement("div");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y1", data.top);
  cursor.setAttribute("y2", data.bottom);
  tip.className = "tip";
  const hide = () => { cursor.remove(); tip.remove(); };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const px = (event.clientX - box.left) / scale;
    if (px < data.left - 8 || px > data.right + 8) return hide();
    const share = (px - data.left) / (data.right - data.left);
    const longest = data.series.reduce((a, b) => a.x.length >= b.x.length ? a : b);
    const step = longest.x[nearest(longest.x, data.low + share * (data.high - data.low))];
    const at = data.left + (step - data.low) / (data.high - data.low) * (data.right - data.left);
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    svg.append(cursor);
    tip.replaceChildren();
    const line = text => { const div = document.createElement("div"); div.textContent = text; tip.append(div); };
    line("step " + step.toLocaleString("en-US"));
    for (const s of data.series) line(s.name + "  " + shown(s.y[nearest(s.x, step)], data.percent));
    figure.append(tip);
    const left = svg.offsetLeft === undefined ? box.left - figure.getBoundingClientRect().left : svg.offsetLeft;
    const x = left + at * scale, room = figure.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.min(x + 12, Math.max(room, 0)) + "px";
    tip.style.top = box.top - figure.getBoundingClientRect().top + data.top * scale + 4 + "px";
  });
}
document.querySelectorAll("svg.chart").forEach(svg => { if (svg.dataset.hover) follow(svg); });
)js";

}  // namespace wam
