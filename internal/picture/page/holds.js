// Holds, waits and hand-offs.

// drawRow draws one row of a client's lane. Of what is narrower than a pixel it draws one item per pixel.
function drawRow(ctx, row) {
  const one = pixel();
  let taken = -Infinity;
  for (let i = firstAfter(row, state.view.from); i < row.length && row[i].first <= state.view.to; i++) {
    const item = row[i];
    if (Math.max(item.end, item.last) - item.first < one) {
      const x = Math.floor(xOf(item.first));
      if (x === taken || (item.failed && one > 20 * ms)) continue;
      taken = x;
    }
    if (!item.wanted) {
      if (!item.failed) dim(ctx, item);
    } else if (item.failed) {
      if (shows("waits")) drawWait(ctx, item, colorOf(item.name));
    } else {
      drawHold(ctx, item, colorOf(item.name));
    }
  }
}

// dim shows that something is there that the filter leaves out.
function dim(ctx, bar) {
  const at = span(bar.at, bar.end);
  if (!at) return;
  ctx.fillStyle = look.void;
  ctx.fillRect(at.x, yOf(bar) + layout.bar / 2 - 1.5, at.w, 3);
}

function drawHold(ctx, bar, color) {
  const y = yOf(bar), h = layout.bar, one = pixel();
  if (shows("waits") && bar.at - bar.first > one) line(ctx, bar.first, bar.at, middleOf(bar), color);
  if (shows("validity") && (bar.how !== "unlocked" || bar.end - bar.at > 2 * one)) drawValidity(ctx, bar, color, y, h);
  const at = span(bar.at, Math.max(bar.at, Math.min(bar.end, Math.max(bar.until, bar.at))));
  if (at) paintHold(ctx, bar, color, at, y, h);
  if (bar.end > bar.until && bar.until > bar.at) drawBeyond(ctx, bar, color, y, h);
  drawMarks(ctx, bar, y, h);
}

// paintHold fills the bar: a reader's is hatched, from the downgrade on if there was one.
function paintHold(ctx, bar, color, at, y, h) {
  const round = Math.min(3, at.w / 3), reads = bar.shared ? bar.at : bar.downgraded;
  const fill = (x, w, paint, alpha) => {
    ctx.fillStyle = paint;
    ctx.globalAlpha = alpha;
    if (w < 4) ctx.fillRect(x, y, w, h);
    else { ctx.beginPath(); ctx.roundRect(x, y, w, h, round); ctx.fill(); }
    ctx.globalAlpha = 1;
  };
  const solid = Math.max(0, Math.min(at.w, xOf(reads) - at.x)), rest = at.w - solid;
  if (solid > 0) fill(at.x, solid, color, 1);
  if (rest > 0) fill(at.x + solid, rest, color, rest < 4 ? 0.65 : 0.3);
  if (rest >= 4) fill(at.x + solid, rest, texture(ctx, "slope", color), 1);
  if (at.w > 26 && h > 8) labelHold(ctx, bar, at, y, h);
}

// labelHold writes the name and the token, or as much of them as there is room for.
function labelHold(ctx, bar, at, y, h) {
  const x = Math.max(at.x, layout.left) + 5, room = Math.min(at.x + at.w, layout.width) - x - 4;
  const name = page.names[bar.name] + (bar.slot ? `·${bar.slot}` : "");
  const token = bar.token === "0" ? "" : bar.token;
  const short = token.length > 6 ? `…${token.slice(-5)}` : token;
  ctx.font = `600 ${h > 11 ? 10.5 : 9.5}px ${look.sans}`;
  const text = [`${name}  #${token}`, `${name}  #${short}`, name].slice(token ? 0 : 2).find(text => ctx.measureText(text).width <= room);
  if (!text) return;
  const reader = bar.shared || bar.downgraded < bar.at + (bar.end - bar.at) / 4;
  if (reader) { ctx.fillStyle = look.panel; ctx.globalAlpha = 0.82; ctx.fillRect(x - 3, y + 1, ctx.measureText(text).width + 6, h - 2); ctx.globalAlpha = 1; }
  ctx.fillStyle = reader ? look.ink : look.onName[bar.name % look.onName.length];
  ctx.fillText(text, x, y + h / 2 + 0.5);
}

// drawValidity draws what was left of the lease when the hold ended: below, where it was given back.
function drawValidity(ctx, bar, color, y, h) {
  if (bar.tail <= bar.end) return;
  const at = span(bar.end, bar.tail), back = bar.how === "unlocked";
  if (!at) return;
  ctx.fillStyle = color;
  ctx.globalAlpha = back ? 0.2 : 0.28;
  const tall = back ? 3 : h - 2, top = y + h - 1 - tall;
  ctx.fillRect(at.x, top, at.w, tall);
  ctx.globalAlpha = 1;
  if (bar.tail === bar.until) ctx.fillRect(at.x + at.w - 1, top, 1, tall);
}

// drawBeyond shows that a hold went on when its validity had ended.
function drawBeyond(ctx, bar, color, y, h) {
  const at = span(bar.until, bar.end);
  if (!at) return;
  ctx.fillStyle = texture(ctx, "back", color);
  ctx.fillRect(at.x, y, at.w, h);
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  ctx.strokeRect(at.x + 0.5, y + 0.5, Math.max(0, at.w - 1), h - 1);
}

// line draws a wait.
function line(ctx, from, to, y, color) {
  const at = span(from, to);
  if (!at) return;
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(at.x, y - 0.5, at.w, 1);
  if (at.w > 6) ctx.fillRect(xOf(from), y - 3, 1.2, 6);
  ctx.globalAlpha = 1;
}

function drawWait(ctx, wait, color) {
  const y = middleOf(wait), x = xOf(wait.end);
  line(ctx, wait.at, wait.end, y, color);
  if (!wait.err || x < layout.left - 10) return;
  if (pixel() > (wait.err === "ended" ? 150 : 20) * ms) return; // from far away that is noise
  if (wait.err === "ended") cross(ctx, x, y, 3, color);
  else { ctx.fillStyle = color; ctx.fillRect(x - 0.8, y - 4, 1.6, 8); }
}

// drawMarks draws writes, renewals and extensions, where there is room for them.
function drawMarks(ctx, bar, y, h) {
  const close = pixel() < 15 * ms, size = pixel() < 100 * ms ? 4.2 : 2.6;
  for (const m of bar.marks) {
    const x = xOf(m.at);
    if (x < layout.left - 6 || x > layout.width) continue;
    if (m.what === "late write") {
      ctx.fillStyle = look.panel;
      ctx.strokeStyle = look.ink;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.arc(x, y + h / 2, size, 0, 2 * Math.PI);
      ctx.fill();
      ctx.moveTo(x - 0.7 * size, y + h / 2 + 0.7 * size);
      ctx.lineTo(x + 0.7 * size, y + h / 2 - 0.7 * size);
      ctx.stroke();
    } else if (close) {
      ctx.fillStyle = look.ink;
      if (m.what === "renewed" || m.what === "extended") { ctx.beginPath(); ctx.moveTo(x - 3.5, y - 4); ctx.lineTo(x + 3.5, y - 4); ctx.lineTo(x, y + 1.5); ctx.fill(); }
      else if (m.what === "not extended") cross(ctx, x, y + 2, 2, look.ink);
      else { ctx.beginPath(); ctx.arc(x, y + h - 2, 1.8, 0, 2 * Math.PI); ctx.fill(); }
    }
  }
}

// drawHandOffs draws arrows, as long as they can be told apart.
function drawHandOffs(ctx) {
  const { from, to } = state.view;
  const seen = handOffs.filter(h => h.to.at >= from && h.from.end <= to && (h.from.wanted || h.to.wanted));
  const strength = Math.min(0.5, 0.62 - seen.length / 200); // fewer can be seen better
  if (strength > 0.1) for (const h of seen) arrow(ctx, h, look.ink, strength, 1.1);
}

function arrow(ctx, { from, to }, color, strength, width) {
  const x0 = xOf(from.end), x1 = xOf(to.at), y0 = middleOf(from), y1 = middleOf(to);
  const down = Math.sign(y1 - y0) || 1, tip = y1 - (down * layout.bar) / 2, start = y0 + (down * layout.bar) / 2;
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.globalAlpha = strength;
  ctx.lineWidth = width;
  ctx.beginPath();
  const bend = Math.min(30, Math.abs(tip - start) / 2);
  ctx.moveTo(x0, start);
  ctx.bezierCurveTo(x0, start + down * bend, x1, tip - down * (bend + 5), x1, tip - down * 4);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, tip);
  ctx.lineTo(x1 - 3.4, tip - down * 6);
  ctx.lineTo(x1 + 3.4, tip - down * 6);
  ctx.fill();
  ctx.globalAlpha = 1;
}

function outline(ctx, item, color, width) {
  const at = span(item.at, item.end, 4);
  if (!at) return;
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.strokeRect(at.x - 1.5, yOf(item) - 1.5, at.w + 3, layout.bar + 3);
}

// emphasize frames what is under the pointer, and shows all of its validity, and who handed it over to whom.
function emphasize(ctx, item) {
  if (item.kind) {
    const at = span(item.first, item.last, 4);
    if (!at) return;
    ctx.strokeStyle = look.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(at.x - 1, faultY(item) + 1, at.w + 2, layout.above - 2);
    return;
  }
  const others = item.failed ? [] : bars.filter(b => b !== item && b.who === item.who && b.call === item.call);
  for (const one of [item, ...others]) outline(ctx, one, look.accent, 2);
  if (item.from) arrow(ctx, { from: item.from, to: item }, look.accent, 1, 2);
  for (const to of item.to || []) arrow(ctx, { from: item, to }, look.accent, 1, 2);
  const tail = !item.failed && item.until > item.end && span(item.end, item.until);
  if (tail) {
    ctx.setLineDash([3, 3]);
    ctx.strokeStyle = look.accent;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(tail.x, yOf(item) + 0.5, tail.w, layout.bar - 1);
    ctx.setLineDash([]);
  }
}
