// Checks math.js and data.js: TestArithmetic of integration/browser runs it.
"use strict";
const assert = require("node:assert/strict"), fs = require("node:fs"), path = require("node:path");
const read = name => fs.readFileSync(path.join(__dirname, "../page", name), "utf8");
const text = read("math.js");
const names = [...text.matchAll(/^function (\w+)/gm)].map(found => found[1]);
const m = new Function(`${text}; return { ${names.join(", ")} };`)();
const s = 1e6, run = { from: 20 * s, to: 620 * s };

// Ticks are round, and no more than there is room for.
for (const [span, n, want] of [[10 * s, 10, 1 * s], [600 * s, 12, 60 * s], [45 * s, 12, 5 * s], [1500, 10, 200], [1000, 10, 100], [86400 * s, 10, 7200 * s]]) {
  assert.equal(m.step(span, n), want, `step(${span}, ${n})`);
}
for (const [t, one, want] of [
  [12.3 * s, 100000, "12.3 s"], [83.4567 * s, 1000, "1:23.457"], [60 * s, 15 * s, "1:00"], [605 * s, 5 * s, "10:05"], [0, s, "0 s"], [1234, 1, "0.001234 s"], [-2 * s, s, "−2 s"],
]) assert.equal(m.instant(t, one), want);
for (const [t, want] of [[12, "12 µs"], [1500, "1.5 ms"], [23_772, "23.8 ms"], [1_976_000, "1.976 s"], [600 * s, "10 min"], [601 * s, "10 min 1 s"], [3600 * s, "1 h"], [5400 * s, "1 h 30 min"], [-3000, "−3 ms"]]) {
  assert.equal(m.duration(t), want);
}

// A view stays inside the run, and what is under the pointer stays there while one zooms.
const view = { from: 100 * s, to: 200 * s }, at = ({ from, to }, t) => (t - from) / (to - from);
for (const t of [100 * s, 130 * s, 200 * s]) {
  for (const factor of [0.5, 1.5]) {
    const got = m.zoomed(view, t, factor, run);
    assert.ok(Math.abs(at(got, t) - at(view, t)) < 1e-9, "a zoom keeps its place");
    assert.ok(Math.abs(got.to - got.from - 100 * s * factor) < 1);
  }
}
const least = m.zoomed(view, 150 * s, 1e-12, run), most = m.zoomed(view, 150 * s, 1e12, run);
assert.ok(Math.abs(least.to - least.from - 200) < 1 && most.from <= run.from && most.to >= run.to && most.to < run.to + 7 * s);
assert.ok(m.moved(view, -3000 * s, run).from > 13 * s && m.moved(view, 3000 * s, run).to < 627 * s);
const close = m.around(50 * s, 50 * s, run);
assert.ok(close.from < 50 * s && close.to > 50 * s);

// Items that do not overlap are found by the time at which they end.
const items = [1, 3, 5].map(last => ({ last }));
assert.deepEqual([0, 1, 2, 5, 6].map(t => m.firstAfter(items, t)), [0, 0, 1, 2, 3]);

// What an address says comes back from it.
for (const asked of [
  { view: { from: 22.3 * s, to: 25 * s }, names: ["a", "b & c=d"], find: "x#y", theme: "dark", hide: ["waits", "faults"] },
  { view: { from: 21.2345 * s, to: 21.2355 * s }, names: [], find: "", theme: "", hide: [] },
]) assert.deepEqual(m.readFragment(m.writeFragment(asked, run)), { ...asked });
assert.equal(m.writeFragment({ view: { from: 19 * s, to: 621 * s }, names: [], find: "", theme: "", hide: [] }, run), "");
assert.equal(m.readFragment("#t=5-3").view, undefined);
assert.equal(m.readFragment("#t=x").view, undefined);

for (const [kind, want] of [
  ["kill-empty", "gone"], ["client-kill-9", "gone"], ["client-kill", "network"], ["cut-client", "network"], ["client-skew", "clock"], ["clock-fast", "clock"],
  ["flushall", "state"], ["busy", "gone"], ["client-stop-short", "gone"], ["stop-restart", "gone"], ["memory-full", "state"],
]) assert.equal(m.family(kind), want, kind);
assert.equal(m.counted(1, "hold"), "1 hold");
assert.equal(m.counted(1234, "life", "lives"), "1,234 lives");
assert.ok(m.brightness("#ffffff") > 0.99 && m.brightness("#000000") === 0);

// Data without lists is that of a run in which nothing happened. Of two items in a row the second cuts the
// validity that is drawn of the first.
const load = page => new Function("document", `${text} ${read("data.js")}; return { lanes, bars, waits, faults, violations, handOffs };`)({
  getElementById: () => ({ textContent: JSON.stringify(page) }),
});
assert.equal(load({ run: { from: 0, end: 0 }, names: null, lanes: null, bars: null, waits: null, marks: null, handoffs: null, faults: null, violations: null }).bars.length, 0);
const bar = (asked, at, stop, until, how) => [0, 0, 0, 0, 0, "1", asked, at, stop, until, -1, -1, how, "c1", 1, 1, "lock", ""];
const loaded = load({
  run: { from: 0, end: 600 * s }, names: ["a"], lanes: [{ name: "c1", rows: 1, above: 0 }],
  bars: [bar(1, 2, 5, 50, 0), bar(10, 12, 15, 60, 0)], marks: [[1, 13, "late write"]], handoffs: [[0, 1]],
  violations: [{ check: "x", at: 12, from: 2, to: 12, bars: [1], waits: [], lanes: [0] }],
});
assert.deepEqual(loaded.bars.map(b => b.tail), [10, 60]);
assert.equal(loaded.bars[1].from, loaded.bars[0]);
assert.equal(loaded.bars[1].marks[0].what, "late write");
assert.equal(loaded.bars[1].found[0], loaded.violations[0]);
console.log("all well");
