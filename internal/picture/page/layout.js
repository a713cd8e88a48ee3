// Where things are: the state of the view, and what is at which height.

const wide = document.getElementById("chart"), over = document.getElementById("over"), stage = document.getElementById("stage");
const state = {
  view: bounded(run, run),
  names: new Set(), // show only these; empty: all
  find: "",
  hide: new Set(), // of layers
  over: null, // what the pointer is over
  pinned: null, // what was clicked
  violation: null, // that was chosen last
  cursor: null, // the pointer's time
};

const layers = { waits: "waits", handoffs: "hand-offs", validity: "validity", faults: "faults" };
const shows = layer => !state.hide.has(layer);

// layout is in CSS pixels.
let layout = {};

function lay() {
  const width = stage.clientWidth, narrow = width < 640;
  const total = lanes.reduce((n, lane) => n + lane.grid.length, 0);
  const row = total < 8 ? 26 : narrow ? 15 : total > 28 ? 14 : 17;
  layout = { width, narrow, left: narrow ? 40 : 92, right: narrow ? 4 : 14, row, bar: row - (row > 20 ? 8 : 4), above: 15, pad: 5, tops: [], bodies: [] };
  let y = 0;
  lanes.forEach((lane, i) => {
    layout.tops[i] = y;
    const above = shows("faults") ? lane.grid.length ? lane.faults.length : Math.max(1, lane.faults.length) : lane.grid.length ? 0 : 1;
    layout.bodies[i] = y + layout.pad + above * layout.above;
    y = layout.bodies[i] + lane.grid.length * row + layout.pad;
  });
  layout.tops.push(y);
  layout.height = y;
}

const xOf = t => layout.left + ((t - state.view.from) / (state.view.to - state.view.from)) * (layout.width - layout.left - layout.right);
const tOf = x => state.view.from + ((x - layout.left) / (layout.width - layout.left - layout.right)) * (state.view.to - state.view.from);
const pixel = () => (state.view.to - state.view.from) / Math.max(1, layout.width - layout.left - layout.right);
const yOf = item => layout.bodies[item.lane.index] + item.row * layout.row + (layout.row - layout.bar) / 2;
const middleOf = item => yOf(item) + layout.bar / 2;
const faultY = f => layout.tops[f.lane.index] + layout.pad + f.row * layout.above;

// filter notes which holds and waits the filter lets through: those with a name that was chosen, if any was,
// and that contains the text.
function filter() {
  const text = state.find.toLowerCase();
  const wanted = page.names.map(name => (!state.names.size || state.names.has(name)) && name.toLowerCase().includes(text));
  for (const item of [...bars, ...waits]) item.wanted = item.names.some(name => wanted[name]);
}

// hit returns what is at a place: a hold, a wait or a fault.
function hit(x, y) {
  const t = tOf(x), near = 5 * pixel();
  const i = layout.tops.findIndex((top, i) => y >= top && y < layout.tops[i + 1]);
  if (i < 0 || i >= lanes.length || x < layout.left) return null;
  const lane = lanes[i];
  const nearest = (items, ok) => {
    let best = null, distance = near;
    for (let n = firstAfter(items, t - near); n < items.length && items[n].first <= t + near; n++) {
      const off = Math.max(0, items[n].first - t, t - items[n].last);
      if (ok(items[n]) && (off < distance || (off === 0 && !best))) { best = items[n]; distance = off; }
    }
    return best;
  };
  if (y >= layout.bodies[i]) {
    const row = lane.grid[Math.floor((y - layout.bodies[i]) / layout.row)];
    const found = row && nearest(row, item => item.wanted && (shows("waits") || !item.failed));
    if (found) return found;
    const gap = lane.gaps.find(g => t >= g.from && t <= (g.to < 0 ? end : g.to));
    return gap ? { gap, lane } : null;
  }
  if (!shows("faults")) return null;
  const row = lane.faults[Math.floor((y - layout.tops[i] - layout.pad) / layout.above)];
  return (row && nearest(row, () => true)) || null;
}
