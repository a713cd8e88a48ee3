// The chart: lanes, and in them what is within the view.

function drawChart() {
  const { width, height } = layout;
  wide.style.height = `${height}px`;
  const ctx = sized(wide, width, height);
  ctx.textBaseline = "middle";
  drawGround(ctx);
  within(ctx, () => {
    for (const v of violations) drawFinding(ctx, v);
    for (const lane of lanes) {
      if (shows("faults")) for (const row of lane.faults) drawFaults(ctx, row);
      for (const row of lane.grid) drawRow(ctx, row);
    }
    if (shows("handoffs")) drawHandOffs(ctx);
    for (const v of violations) for (const item of [...v.bars, ...v.waits]) outline(ctx, item, v.unpromised ? look.oddfill : look.bad, 2);
    if (page.run.over >= 0) upright(ctx, page.run.over, look.soft, [2, 3]);
  });
  drawGutter(ctx);
}

// drawOver draws what follows the pointer, on a canvas of its own.
function drawOver() {
  over.style.height = `${layout.height}px`;
  const ctx = sized(over, layout.width, layout.height);
  within(ctx, () => {
    for (const item of new Set([state.over, state.pinned])) if (item && !item.gap) emphasize(ctx, item);
    if (state.cursor !== null) upright(ctx, state.cursor, look.soft);
  });
}

// within draws beside the names of the lanes only.
function within(ctx, draw) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(layout.left, 0, layout.width - layout.left, layout.height);
  ctx.clip();
  draw();
  ctx.restore();
}

function upright(ctx, t, color, dash = []) {
  const x = Math.round(xOf(t)) + 0.5;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.globalAlpha = 0.55;
  ctx.setLineDash(dash);
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x, 0);
  ctx.lineTo(x, layout.height);
  ctx.stroke();
  ctx.restore();
}

// span returns the pixels of a stretch of time, cut to the screen and at least least wide; null if it is not on it.
function span(from, to, least = 1) {
  const a = Math.max(xOf(from), layout.left - 40), b = Math.min(xOf(to), layout.width + 40);
  if (b < layout.left - 20 || a > layout.width + 20) return null;
  return { x: a, w: Math.max(least, b - a) };
}

// drawGround paints lanes, the grid of time, and when processes did not run.
function drawGround(ctx) {
  lanes.forEach((lane, i) => {
    ctx.fillStyle = i % 2 ? look.panel : look.lane;
    ctx.fillRect(0, layout.tops[i], layout.width, layout.tops[i + 1] - layout.tops[i]);
  });
  ctx.fillStyle = look.line;
  for (const t of ticks()) ctx.fillRect(Math.round(xOf(t)), 0, 1, layout.height);
  for (const lane of lanes) {
    if (!lane.lives.length) continue;
    let from = -end;
    for (const life of lane.lives) {
      drawVoid(ctx, lane, from, life.began);
      from = life.ended < 0 ? Infinity : life.ended;
    }
    drawVoid(ctx, lane, from, 2 * end);
    for (const gap of lane.gaps) drawGap(ctx, lane, gap);
    for (const life of lane.lives) if (life.killed) drawKill(ctx, lane, life);
  }
  const first = lanes.findIndex(lane => !lane.master);
  if (first > 0) {
    ctx.fillStyle = look.soft;
    ctx.fillRect(0, layout.tops[first], layout.width, 1);
  }
}

// inLane paints a stretch of a lane, from its top to its bottom.
function inLane(ctx, lane, from, to, paint, alpha = 1) {
  const at = span(from, to, 1.5);
  if (!at) return null;
  const y = layout.tops[lane.index], h = layout.tops[lane.index + 1] - y;
  ctx.save();
  ctx.beginPath();
  ctx.rect(layout.left, y, layout.width, h);
  ctx.clip();
  ctx.globalAlpha = alpha;
  ctx.fillStyle = paint;
  ctx.fillRect(at.x, y, at.w, h);
  ctx.restore();
  return { ...at, y, h };
}

function drawVoid(ctx, lane, from, to) {
  if (to > from) inLane(ctx, lane, from, to, look.void, 0.75);
}

function drawGap(ctx, lane, gap) {
  const to = gap.to < 0 ? end : gap.to;
  inLane(ctx, lane, gap.from, to, look.fault, gap.stopped ? 0.16 : 0.08);
  if (gap.stopped) inLane(ctx, lane, gap.from, to, texture(ctx, "back", look.fault), 0.35);
}

function drawKill(ctx, lane, life) {
  const at = inLane(ctx, lane, life.ended, life.ended, look.ink);
  if (at) cross(ctx, at.x + 0.75, at.y + at.h / 2, 4.5, look.ink, 2);
}

function cross(ctx, x, y, size, color, width = 1.4) {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x - size, y - size);
  ctx.lineTo(x + size, y + size);
  ctx.moveTo(x + size, y - size);
  ctx.lineTo(x - size, y + size);
  ctx.stroke();
}

// drawFinding washes the lanes that a violation is in.
function drawFinding(ctx, v) {
  const color = v.unpromised ? look.oddfill : look.bad;
  for (const lane of v.lanes) {
    const at = inLane(ctx, lane, v.from, v.to, color, state.violation === v ? 0.26 : 0.15);
    if (!at) continue;
    ctx.fillStyle = color;
    ctx.fillRect(at.x, at.y, 1, at.h);
    ctx.fillRect(at.x + at.w - 1, at.y, 1, at.h);
  }
  if (!v.lanes.length) upright(ctx, v.at, color);
}

// drawFaults draws a row of faults: spans, or diamonds for what took no time.
function drawFaults(ctx, row) {
  const h = layout.above - 4, from = state.view.from - 60 * pixel();
  for (let i = firstAfter(row, from); i < row.length && row[i].first <= state.view.to; i++) {
    const f = row[i], y = faultY(f) + 2, next = i + 1 < row.length ? xOf(row[i + 1].first) : Infinity;
    const at = span(f.first, f.last, 2);
    if (!at) continue;
    let room = Math.min(at.x + at.w, next) - Math.max(at.x, layout.left), x = Math.max(at.x, layout.left) + 5, inside = true;
    if (f.last - f.first < 4 * pixel()) {
      diamond(ctx, xOf(f.first), y + h / 2, 5, look.fault);
      room = next - xOf(f.first) - 8;
      x = xOf(f.first) + 8;
      inside = false;
    } else {
      paintFault(ctx, f.family, at.x, y, at.w, h);
      if (f.forgets) { ctx.fillStyle = look.oddfill; ctx.fillRect(at.x, y + h, at.w, 2); }
    }
    ctx.font = `600 10px ${look.sans}`;
    const wide = ctx.measureText(f.kind).width;
    if (room < wide + 9) continue;
    if (inside && f.family !== "gone") { ctx.fillStyle = look.panel; ctx.fillRect(x - 3, y + 1, wide + 6, h - 2); }
    ctx.fillStyle = inside && f.family === "gone" ? look.panel : look.ink;
    ctx.fillText(f.kind, x, y + h / 2 + 0.5);
  }
}

// paintFault fills a box with the texture of a family of faults.
function paintFault(ctx, kind, x, y, w, h) {
  const kinds = { network: "slope", clock: "upright", state: "dots" };
  if (kind !== "gone") {
    ctx.globalAlpha = 0.18;
    ctx.fillStyle = look.fault;
    ctx.fillRect(x, y, w, h);
    ctx.globalAlpha = 1;
  }
  ctx.fillStyle = kind === "gone" ? look.fault : texture(ctx, kinds[kind], look.fault);
  ctx.fillRect(x, y, w, h);
  ctx.strokeStyle = look.fault;
  ctx.lineWidth = 1;
  if (w > 3) ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
}

function diamond(ctx, x, y, size, color) {
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.lineTo(x - size, y);
  ctx.fill();
}

// drawGutter names the lanes.
function drawGutter(ctx) {
  ctx.save();
  ctx.fillStyle = look.line;
  ctx.fillRect(layout.left - 1, 0, 1, layout.height);
  lanes.forEach((lane, i) => {
    const top = layout.tops[i], high = layout.tops[i + 1] - top, x = layout.narrow ? 6 : 14;
    ctx.beginPath();
    ctx.rect(0, top, layout.left - 4, high);
    ctx.save();
    ctx.clip();
    ctx.font = `650 ${layout.narrow ? 11 : 13}px ${look.sans}`;
    ctx.fillStyle = look.ink;
    const y = lane.master ? top + high / 2 + 0.5 : top + Math.min(high / 2, 15);
    ctx.fillText(lane.name, x, y);
    const more = lane.lives.length > 1 ? counted(lane.lives.length, "life", "lives") : "";
    ctx.font = `11px ${look.sans}`;
    ctx.fillStyle = look.soft;
    if (more && high > 44 && !layout.narrow) ctx.fillText(more, x, y + 16);
    const skew = lane.lives.find(life => life.skew);
    if (skew && high > 60 && !layout.narrow) ctx.fillText(`clock ${skew.skew > 0 ? "+" : ""}${duration(skew.skew)}`, x, y + 31);
    ctx.restore();
  });
  ctx.restore();
}
