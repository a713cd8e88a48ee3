// What is around the chart: the header, the list of violations, the filter, and the legend.

const by = id => document.getElementById(id);

function fillHeader() {
  const { run } = page;
  by("title").textContent = run.title || "A run";
  const bad = violations.filter(v => !v.unpromised).length, odd = violations.length - bad, verdict = by("verdict");
  verdict.hidden = page.violations === null; // nobody judged
  verdict.textContent = [bad ? counted(bad, "violation") : "no violations", odd ? `${odd} not promised` : ""].filter(Boolean).join(", ");
  verdict.classList.add(bad ? "bad" : odd ? "odd" : "good");
  const lease = [run.lease > 0 && duration(run.lease), run.maxlease > run.lease && `at most ${duration(run.maxlease)}`, run.guard > 0 && `guard ${duration(run.guard)}`];
  const clients = lanes.filter(lane => !lane.master).length;
  fact("ran for", duration(end - page.run.from));
  fact("seed", run.seed === "0" ? "" : run.seed);
  fact("masters", run.masters ? String(run.masters.length) : "");
  fact("clients", String(clients));
  fact("lease", lease.filter(Boolean).join(", "));
  fact("calls", run.calls.toLocaleString("en"));
  fact("holds", run.granted.toLocaleString("en"));
  fact("hand-offs", handOffs.length.toLocaleString("en"));
  fact("faults", run.faults ? `${run.faults.toLocaleString("en")} of ${counted(run.kinds, "kind")}` : "none");
  fact("began", run.began);
  if (run.replay) {
    const code = element("code", run.replay), copy = element("button", "Copy", "copy");
    copy.type = "button";
    copy.onclick = () => { navigator.clipboard.writeText(run.replay).then(() => { copy.textContent = "Copied"; }, () => getSelection().selectAllChildren(code)); };
    fact("replay", code, copy);
  }
}

function fact(name, ...texts) {
  if (!texts[0]) return;
  const row = element("div"), value = element("dd");
  texts.forEach((text, i) => value.append(...(i ? [" ", text] : [text])));
  row.append(element("dt", name), value);
  by("facts").append(row);
}

// How many violations are listed: more than that nobody reads.
const listed = 300;

function fillFindings() {
  by("findings").hidden = !violations.length;
  for (const v of violations.slice(0, listed)) {
    const item = element("li"), button = element("button", undefined, v.unpromised ? "odd" : "");
    const text = element("span", v.text);
    if (v.unpromised) text.append(element("i", ` Not promised: ${v.unpromised}.`));
    button.type = "button";
    button.append(element("time", instant(v.at, 1000)), element("b", v.check), text);
    button.onclick = () => visit(v);
    v.button = button;
    item.append(button);
    by("findings").firstElementChild.append(item);
  }
  if (violations.length > listed) by("findings").firstElementChild.append(element("li", `and ${counted(violations.length - listed, "more", "more")}, which the picture shows`, "soft"));
}

// visit goes to a violation.
function visit(v) {
  for (const { button } of violations.slice(0, listed)) button.ariaCurrent = String(button === v.button);
  v.button?.scrollIntoView({ block: "nearest" });
  state.violation = v;
  const ends = v.bars.map(bar => Math.min(bar.end, v.to + 200 * ms));
  show(around(Math.min(v.from, ...v.bars.map(bar => Math.max(bar.at, v.from - 200 * ms))), Math.max(v.to, ...ends), run));
  pin(null);
  told.textContent = `${v.check}: ${v.text}`;
  const bar = v.bars[0] || v.waits[0], box = wide.getBoundingClientRect();
  const y = bar ? box.top + yOf(bar) : box.top;
  if (y < mapHeight + axisHeight || y > innerHeight - 60) scrollBy({ top: y - innerHeight / 3 });
}

// fillFilter makes a chip for each of the names that are used most. The text finds the others.
function fillFilter() {
  const used = new Map();
  for (const item of [...bars, ...waits]) for (const n of item.names) used.set(n, (used.get(n) || 0) + 1);
  const most = [...used.keys()].sort((a, b) => used.get(b) - used.get(a)).slice(0, 16).sort((a, b) => a - b);
  for (const n of most) {
    const chip = element("button");
    chip.type = "button";
    chip.append(swatch(`var(--n${n % look.names.length})`), page.names[n]);
    chip.dataset.name = page.names[n];
    chip.onclick = () => {
      const name = page.names[n];
      if (!state.names.delete(name)) state.names.add(name);
      filterChanged();
    };
    by("names").append(chip);
  }
  by("find").value = state.find;
  by("find").oninput = e => { state.find = e.target.value; filterChanged(); };
  for (const [layer, name] of Object.entries(layers)) {
    const button = element("button", name);
    button.type = "button";
    button.dataset.layer = layer;
    button.onclick = () => {
      if (!state.hide.delete(layer)) state.hide.add(layer);
      filterChanged();
    };
    by("layers").append(button);
  }
}

function filterChanged() {
  filter();
  for (const chip of by("names").children) chip.ariaPressed = String(!state.names.size || state.names.has(chip.dataset.name));
  for (const button of by("layers").children) button.ariaPressed = String(shows(button.dataset.layer));
  redrawMap();
  lay();
  repaint();
}

// countShown says how many holds are on the screen.
function countShown() {
  const { from, to } = state.view;
  let n = 0;
  for (const bar of bars) if (bar.end >= from && bar.at <= to && bar.wanted) n++;
  by("shown").textContent = n === bars.length ? counted(n, "hold") : `${n.toLocaleString("en")} of ${counted(bars.length, "hold")}`;
}

function fillTheme() {
  by("theme").textContent = dark() ? "☀ Light" : "☾ Dark";
}

// fillLegend draws each sign that the chart has, as the chart draws it.
function fillLegend() {
  const list = by("legend").lastElementChild, color = look.names[0];
  list.replaceChildren();
  const marked = what => bars.some(bar => bar.marks.some(m => what.includes(m.what)));
  const sign = (text, present, draw) => {
    if (!present) return;
    const item = element("li"), canvas = element("canvas");
    item.append(canvas, text);
    list.append(item);
    const ctx = sized(canvas, 44, 18);
    draw(ctx);
  };
  const box = (ctx, x, w, paint, alpha = 1) => { ctx.globalAlpha = alpha; ctx.fillStyle = paint; ctx.fillRect(x, 3, w, 12); ctx.globalAlpha = 1; };
  sign("a hold", true, ctx => box(ctx, 4, 36, color));
  sign("a reader’s", bars.some(b => b.shared || b.downgraded < Infinity), ctx => { box(ctx, 4, 36, color, 0.3); box(ctx, 4, 36, texture(ctx, "slope", color)); });
  sign("validity that it gave back", bars.some(b => b.how === "unlocked"), ctx => { box(ctx, 4, 16, color); ctx.globalAlpha = 0.3; ctx.fillRect(20, 12, 20, 3); ctx.globalAlpha = 1; });
  sign("validity after a loss or a death", bars.some(b => b.how !== "unlocked"), ctx => { box(ctx, 4, 16, color); box(ctx, 20, 20, color, 0.28); });
  sign("held on after its validity", bars.some(b => b.end > b.until), ctx => { box(ctx, 4, 16, color); box(ctx, 20, 20, texture(ctx, "back", color)); });
  sign("renewed or extended; a write", marked(["renewed", "extended", "write"]), ctx => {
    box(ctx, 4, 36, color);
    ctx.fillStyle = look.ink;
    ctx.beginPath(); ctx.moveTo(10.5, 1.5); ctx.lineTo(17.5, 1.5); ctx.lineTo(14, 6.5); ctx.fill();
    ctx.beginPath(); ctx.arc(30, 13, 1.8, 0, 7); ctx.fill();
  });
  sign("a wait", true, ctx => { ctx.fillStyle = color; ctx.fillRect(4, 8.4, 20, 1.2); ctx.fillRect(4, 6, 1.2, 6); box(ctx, 24, 16, color); });
  sign("the deadline came", waits.some(w => w.err === "ended"), ctx => { ctx.fillStyle = color; ctx.fillRect(4, 8.4, 32, 1.2); cross(ctx, 36, 9, 3, color); });
  sign("another error", waits.some(w => w.err && w.err !== "ended"), ctx => { ctx.fillStyle = color; ctx.fillRect(4, 8.4, 32, 1.2); ctx.fillRect(36, 5, 1.6, 8); });
  sign("handed over", handOffs.length, ctx => {
    ctx.strokeStyle = ctx.fillStyle = look.ink;
    ctx.beginPath(); ctx.moveTo(8, 1); ctx.bezierCurveTo(8, 9, 34, 3, 34, 12); ctx.stroke();
    ctx.beginPath(); ctx.moveTo(34, 17); ctx.lineTo(30.6, 11); ctx.lineTo(37.4, 11); ctx.fill();
  });
  sign("a write whose token was too old", marked(["late write"]), ctx => {
    ctx.strokeStyle = look.ink; ctx.lineWidth = 1.5;
    ctx.beginPath(); ctx.arc(22, 9, 4.5, 0, 7); ctx.moveTo(19.2, 11.8); ctx.lineTo(24.8, 6.2); ctx.stroke();
  });
  const kinds = { gone: "masters or clients that do not run", network: "network", clock: "clocks", state: "memory, roles, scripts" };
  for (const [kind, text] of Object.entries(kinds)) sign(text, faults.some(f => f.family === kind && f.last > f.first), ctx => paintFault(ctx, kind, 4, 3, 36, 12));
  sign("takes no time, at this scale", faults.length, ctx => diamond(ctx, 22, 9, 5, look.fault));
  sign("a master may forget", faults.some(f => f.forgets), ctx => { paintFault(ctx, "state", 4, 2, 36, 11); ctx.fillStyle = look.oddfill; ctx.fillRect(4, 13, 36, 2); });
  sign("a process stopped", lanes.some(lane => lane.gaps.length), ctx => { box(ctx, 4, 36, look.fault, 0.16); box(ctx, 4, 36, texture(ctx, "back", look.fault), 0.35); });
  sign("killed; no process", lanes.some(lane => lane.lives.some(life => life.killed)), ctx => { box(ctx, 14, 26, look.void); ctx.fillStyle = look.ink; ctx.fillRect(13, 1, 1.5, 16); cross(ctx, 13.75, 9, 4.5, look.ink, 2); });
  sign("a violation", violations.some(v => !v.unpromised), ctx => { box(ctx, 4, 36, look.bad, 0.2); ctx.strokeStyle = look.bad; ctx.lineWidth = 2; ctx.strokeRect(10, 4, 24, 10); });
  sign("not promised", violations.some(v => v.unpromised), ctx => { box(ctx, 4, 36, look.oddfill, 0.2); ctx.strokeStyle = look.oddfill; ctx.lineWidth = 2; ctx.strokeRect(10, 4, 24, 10); });
}
