// Above the chart: the map of the whole run, and the axis.

const mapCanvas = document.getElementById("map"), axisCanvas = document.getElementById("axis");
const mapHeight = 52, axisHeight = 26;

const mapX = t => layout.left + ((t - run.from) / (end - run.from)) * (layout.width - layout.left - layout.right);
const mapT = x => ((x - layout.left) / (layout.width - layout.left - layout.right))  * (end - run.from) + run.from;

// busyness is how many holds there are in each of n parts of the run, by color.
function busyness(n) {
  const parts = Array.from({ length: n }, () => new Map());
  for (const bar of bars) {
    if (!bar.wanted) continue;
    const color = colorOf(bar.name), one = (end - run.from) / n, last = Math.min(n - 1, Math.floor((bar.end - run.from) / one));
    for (let i = Math.max(0, Math.floor((bar.at - run.from) / one)); i <= last; i++) {
      const within = Math.min(bar.end - run.from, (i + 1) * one) - Math.max(bar.at - run.from, i * one);
      parts[i].set(color, (parts[i].get(color) || 0) + Math.max(0, within) / one);
    }
  }
  return parts;
}

let still = null; // the map without the window: it changes with the filter, the size and the theme only
const redrawMap = () => { still = null; };

function stillMap() {
  const canvas = document.createElement("canvas"), ctx = sized(canvas, layout.width, mapHeight);
  const width = layout.width - layout.left - layout.right, n = Math.max(1, Math.floor(width / 2));
  const parts = busyness(n), base = mapHeight - 14, top = 6;
  const most = Math.max(1, ...parts.map(part => [...part.values()].reduce((a, b) => a + b, 0)));
  parts.forEach((part, i) => {
    let y = base;
    for (const color of look.names) {
      const h = ((part.get(color) || 0) / most) * (base - top);
      ctx.fillStyle = color;
      ctx.fillRect(layout.left + (i * width) / n, y - h, width / n + 0.3, h);
      y -= h;
    }
  });
  ctx.fillStyle = look.fault;
  ctx.globalAlpha = Math.max(0.22, 1 / Math.max(1, lanes.filter(lane => lane.master).length));
  for (const f of faults) ctx.fillRect(mapX(f.first), base + 3, Math.max(1.5, mapX(f.last) - mapX(f.first)), 7);
  ctx.globalAlpha = 1;
  for (const v of violations) {
    ctx.fillStyle = v.unpromised ? look.oddfill : look.bad;
    ctx.globalAlpha = 0.16;
    ctx.fillRect(mapX(v.from), 0, mapX(v.to) - mapX(v.from), mapHeight);
    ctx.globalAlpha = 1;
    ctx.fillRect(mapX(v.at) - 1, 0, 2, mapHeight);
  }
  if (!layout.narrow) {
    ctx.font = `11px ${look.sans}`;
    ctx.fillStyle = look.soft;
    ctx.textBaseline = "middle";
    ctx.fillText("holds", 14, (top + base) / 2);
    ctx.fillText("faults", 14, base + 7);
  }
  return canvas;
}

function drawMap() {
  still ||= stillMap();
  const ctx = sized(mapCanvas, layout.width, mapHeight);
  ctx.drawImage(still, 0, 0, layout.width, mapHeight);
  const a = mapX(Math.max(run.from, state.view.from)), b = Math.max(a + 3, mapX(Math.min(end, state.view.to)));
  ctx.fillStyle = look.bg;
  ctx.globalAlpha = 0.62;
  ctx.fillRect(layout.left, 0, a - layout.left, mapHeight);
  ctx.fillRect(b, 0, layout.width - b, mapHeight);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = look.accent;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(a, 1, b - a, mapHeight - 2);
  ctx.fillStyle = look.accent;
  for (const x of [a, b]) { ctx.beginPath(); ctx.roundRect(x - 2.5, mapHeight / 2 - 9, 5, 18, 2.5); ctx.fill(); }
}

// ticks are the times that the axis names.
function ticks() {
  const { from, to } = state.view, width = layout.width - layout.left - layout.right;
  const one = step(to - from, Math.max(2, width / 95)), all = [];
  for (let n = Math.ceil(Math.max(run.from, from) / one); n * one <= Math.min(to, end); n++) all.push(n * one);
  all.step = one;
  return all;
}

function drawAxis() {
  const ctx = sized(axisCanvas, layout.width, axisHeight), all = ticks();
  ctx.textBaseline = "middle";
  ctx.font = `11px ${look.sans}`;
  ctx.fillStyle = look.soft;
  for (const t of all) {
    const x = xOf(t), text = instant(t, all.step);
    ctx.fillRect(Math.round(x), axisHeight - 5, 1, 5);
    if (x > layout.width - 30) continue;
    ctx.fillText(text, Math.max(2, x - (t === 0 ? 0 : ctx.measureText(text).width / 2)), 10);
  }
  for (const v of violations) {
    const x = xOf(v.at);
    if (x < layout.left || x > layout.width) continue;
    ctx.fillStyle = v.unpromised ? look.oddfill : look.bad;
    ctx.beginPath();
    ctx.moveTo(x - 5, axisHeight - 9);
    ctx.lineTo(x + 5, axisHeight - 9);
    ctx.lineTo(x, axisHeight - 1);
    ctx.fill();
  }
  const note = (t, text) => {
    const x = xOf(t), wide = ctx.measureText(text).width + 10;
    if (x < layout.left - 1 || x > layout.width) return;
    const left = Math.min(Math.max(layout.left, x - wide / 2), layout.width - wide);
    ctx.fillStyle = look.ink;
    ctx.beginPath();
    ctx.roundRect(left, 1, wide, 17, 4);
    ctx.fill();
    ctx.fillStyle = look.panel;
    ctx.fillText(text, left + 5, 10);
  };
  if (page.run.over >= 0 && !layout.narrow) {
    ctx.fillStyle = look.soft;
    const x = xOf(page.run.over);
    if (x > layout.left && x < layout.width - 80) note(page.run.over, "faults over");
  }
  if (state.cursor !== null) note(state.cursor, instant(state.cursor, Math.max(1, pixel())));
}
