// The data of the page, as data.go wrote it, with what belongs together tied together.

const page = JSON.parse(document.getElementById("data").textContent);
const end = Math.max(page.run.from + 1, page.run.end);
const run = { from: page.run.from, to: end };
const list = name => page[name] || []; // null: there is none

page.names = list("names");
const lanes = list("lanes").map((lane, index) => ({
  lives: [], gaps: [], ...lane, index,
  grid: Array.from({ length: lane.rows }, () => []), // bars and waits, by row
  faults: Array.from({ length: lane.above }, () => []), // by row
}));

const bars = list("bars").map(([lane, row, name, slot, shared, token, asked, at, stop, until, gone, downgraded, how, who, hold, call, verb, why]) => ({
  lane: lanes[lane], row, name, slot, shared: !!shared, token, asked, at, end: stop, until,
  gone: gone < 0 ? Infinity : gone, downgraded: downgraded < 0 ? Infinity : downgraded,
  how: ["unlocked", "lost", "died", "open"][how], who, hold, call, verb, why, names: [name],
  marks: [], from: null, to: [], found: [], first: asked, last: stop,
}));

const waits = list("waits").map(([lane, row, names, at, stop, deadline, err, who, call, verb, text]) => ({
  lane: lanes[lane], row, names: names || [], name: (names || [-1])[0], at, end: stop, deadline, err, who, call, verb, text,
  first: at, last: stop, failed: true, found: [],
}));

for (const item of [...bars, ...waits]) item.lane.grid[item.row].push(item);
for (const lane of lanes) {
  for (const row of lane.grid) {
    row.sort((a, b) => a.first - b.first);
    // Validity is drawn behind a hold, as far as there is room.
    row.forEach((item, i) => {
      if (item.failed) return;
      const room = i + 1 < row.length ? row[i + 1].first : Infinity;
      item.tail = Math.max(item.end, Math.min(item.until, room));
      item.last = Math.max(item.last, item.tail);
    });
  }
}

for (const [bar, at, what] of list("marks")) bars[bar].marks.push({ at, what });

const handOffs = list("handoffs").map(([from, to]) => {
  const h = { from: bars[from], to: bars[to] };
  h.to.from = h.from;
  h.from.to.push(h.to);
  return h;
});

const faults = list("faults").map(([lane, row, from, to, kind, forgets, on, text]) => {
  const f = {
    lane: lanes[lane], row, first: from, last: to < 0 ? end : to, mended: to >= 0, kind, forgets: !!forgets, on, text,
    family: family(kind),
  };
  f.lane.faults[row].push(f);
  return f;
});

const violations = list("violations").map((v, index) => {
  const one = { ...v, index, bars: v.bars.map(i => bars[i]), waits: v.waits.map(i => waits[i]), lanes: v.lanes.map(i => lanes[i]) };
  for (const item of [...one.bars, ...one.waits]) item.found.push(one);
  return one;
});

const holdsInOrder = [...bars].sort((a, b) => a.at - b.at);
