// The facts of what is under the pointer, or was clicked.

const tip = document.getElementById("tip"), told = document.getElementById("told");

const exactly = t => instant(t, t < 10 * second ? 1 : 10);
const named = item => page.names[item.name] + (item.slot ? `, slot ${item.slot}` : "");
const holder = bar => `${bar.who}, hold ${bar.hold}`;

const asks = {
  lock: "Lock", trylock: "TryLock", lockfor: "LockFor", rlock: "RLock", tryrlock: "TryRLock", lockall: "LockAll",
  acquire: "Acquire", tryacquire: "TryAcquire",
};
const failures = {
  taken: "taken by somebody else", noquorum: "too few masters answered", ended: "the deadline came", lost: "the hold was lost",
  closed: "the client was closed", other: "an error that is not documented", "": "it did not return",
};

// facts returns what is known of an item: a title, its color, and rows of a name and a text.
function facts(item) {
  if (item.gap) return gapFacts(item);
  if (item.kind) return faultFacts(item);
  return item.failed ? waitFacts(item) : holdFacts(item);
}

function holdFacts(bar) {
  const kind = bar.slot ? "permit" : bar.shared ? "reader" : "holder";
  const rows = [
    ["who", `${holder(bar)}, by ${asks[bar.verb] || bar.verb}, call ${bar.call}`],
    ["asked", exactly(bar.first)],
    ["granted", `${exactly(bar.at)}, after ${duration(bar.at - bar.first)}`],
  ];
  if (bar.from) rows.push(["handed over", `by ${holder(bar.from)}, ${duration(bar.at - bar.from.end)} after its Unlock`]);
  if (bar.downgraded < Infinity) rows.push(["downgraded", exactly(bar.downgraded)]);
  const ends = { unlocked: "unlocked", lost: "lost", died: "its process died", open: "still held" };
  rows.push([ends[bar.how], `${exactly(bar.end)}, held for ${duration(bar.end - bar.at)}`]);
  if (bar.why) rows.push(["because", bar.why]);
  if (bar.how === "unlocked") rows.push(["Unlock took", bar.gone === Infinity ? "for ever: it did not return" : duration(bar.gone - bar.end)]);
  const left = bar.until - bar.end;
  rows.push(["valid until", `${exactly(bar.until)}, ${duration(Math.abs(left))} ${left < 0 ? "before" : "after"} that`, left < 0 ? "odd" : ""]);
  if (bar.token !== "0") rows.push(["token", bar.token]);
  for (const next of bar.to) rows.push(["handed on", `to ${holder(next)}`]);
  const count = what => bar.marks.filter(m => m.what === what).length;
  if (count("renewed")) rows.push(["renewed", counted(count("renewed"), "time")]);
  if (count("extended")) rows.push(["extended", counted(count("extended"), "time")]);
  if (count("not extended")) rows.push(["not extended", counted(count("not extended"), "time")]);
  if (count("write")) rows.push(["writes", counted(count("write"), "write")]);
  for (const m of bar.marks) if (m.what === "late write") rows.push(["late write", `${exactly(m.at)}: its token was too old`, "odd"]);
  return { title: `${named(bar)}: ${kind}`, color: colorOf(bar.name), rows: [...rows, ...findingsOf(bar)] };
}

const findingsOf = item => item.found.map(v => [v.unpromised ? "not promised" : "violation", `${v.check}: ${v.text}`, v.unpromised ? "odd" : "bad"]);

function waitFacts(wait) {
  const rows = [
    ["who", `${wait.who}, by ${asks[wait.verb] || wait.verb}, call ${wait.call}`],
    ["asked", exactly(wait.at)],
    [wait.err ? "gave up" : "until", `${exactly(wait.end)}, after ${duration(wait.end - wait.at)}`],
    ["because", failures[wait.err] || wait.err],
  ];
  if (wait.text) rows.push(["error", wait.text]);
  if (wait.deadline) rows.push(["deadline", exactly(wait.deadline)]);
  return { title: `${wait.names.map(n => page.names[n]).join(", ")}: not granted`, color: colorOf(wait.name), rows: [...rows, ...findingsOf(wait)] };
}

function faultFacts(f) {
  const instantly = f.mended && f.last - f.first < 1 * ms;
  const rows = [["on", (f.on || []).join(", ")], [instantly ? "at" : "from", exactly(f.first)]];
  if (!instantly) rows.push(["to", f.mended ? `${exactly(f.last)}, ${duration(f.last - f.first)}` : "the end: not mended"]);
  if (f.text) rows.push(["how", f.text]);
  if (f.forgets) rows.push(["note", "the master may forget what it granted, without a restart", "odd"]);
  return { title: `fault: ${f.kind}`, color: look.fault, rows };
}

function gapFacts({ gap, lane }) {
  const to = gap.to < 0 ? end : gap.to;
  const rows = [["who", lane.name], ["from", exactly(gap.from)], ["to", `${exactly(to)}, ${duration(to - gap.from)}`]];
  return { title: gap.stopped ? "stopped from outside" : "stalled: it did not run", color: look.fault, rows };
}

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function swatch(color) {
  const mark = element("span", undefined, "swatch");
  mark.style.background = color;
  return mark;
}

// showTip shows the facts of an item beside a place on the screen.
function showTip(item, x, y) {
  const pinned = item && item === state.pinned;
  tip.hidden = !item;
  tip.classList.toggle("pinned", pinned);
  if (!item) return;
  const { title, color, rows } = facts(item), list = element("dl"), heading = element("h2");
  heading.append(swatch(color), title);
  for (const [name, text, className] of rows) list.append(element("dt", name), element("dd", text, className));
  tip.replaceChildren(heading, list);
  if (pinned) {
    const close = element("button", "×");
    close.ariaLabel = "Close";
    close.onclick = () => { pin(null); wide.focus(); };
    tip.append(close);
    told.textContent = `${title}. ${rows.map(([name, text]) => `${name} ${text}`).join(". ")}`;
  }
  const box = tip.getBoundingClientRect(), width = document.documentElement.clientWidth;
  const left = x + 16 + box.width <= width - 8 ? x + 16 : x - 16 - box.width;
  const top = y + 14 + box.height <= innerHeight - 8 ? y + 14 : y - 14 - box.height;
  tip.style.left = `${Math.min(Math.max(8, left), width - box.width - 8)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

// pin keeps the facts of an item on the screen, beside the item unless a place is given; null lets them go.
function pin(item, x, y) {
  state.pinned = item;
  if (item && x === undefined) {
    const box = wide.getBoundingClientRect();
    const t = Math.min(Math.max(item.at ?? item.first ?? item.gap.from, state.view.from), state.view.to);
    x = box.left + xOf(t);
    y = box.top + (item.kind ? faultY(item) : item.gap ? layout.tops[item.lane.index] : yOf(item)) + layout.bar;
  }
  showTip(item, x, y);
  repaintOver();
}
