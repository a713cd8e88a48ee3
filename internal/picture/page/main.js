// The page begins.

let due = 0, stale = true, noted = 0;

// repaint draws the next frame anew; repaintOver only what follows the pointer.
function repaint() {
  stale = true;
  repaintOver();
}

function repaintOver() {
  due ||= requestAnimationFrame(() => {
    due = 0;
    if (stale) {
      drawMap();
      drawChart();
      countShown();
      clearTimeout(noted);
      noted = setTimeout(note, 300);
    }
    stale = false;
    drawAxis();
    drawOver();
  });
}

// show moves the view.
function show(view) {
  state.view = bounded(view, run);
  if (state.pinned) pin(state.pinned);
  repaint();
}

// note keeps the address in step with what is shown.
function note() {
  const hash = writeFragment({ view: state.view, names: [...state.names], find: state.find, theme: root.dataset.theme || "", hide: [...state.hide] }, run);
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
}

// obey does what the address asks for.
function obey() {
  const asked = readFragment(location.hash);
  state.names = new Set(asked.names);
  state.find = asked.find;
  by("find").value = asked.find;
  state.hide = new Set(asked.hide.filter(layer => layer in layers));
  if (asked.theme === "dark" || asked.theme === "light") root.dataset.theme = asked.theme;
  state.view = bounded(asked.view || run, run);
  recolor();
  filterChanged();
}

function recolor() {
  readLook();
  fillTheme();
  fillLegend();
  redrawMap();
  repaint();
}

readLook();
fillHeader();
fillFindings();
fillFilter();
if (innerWidth < 640) by("legend").open = false;
wide.ariaLabel = `What ${lanes.length} clients and masters did in ${duration(end - run.from)}: ${counted(bars.length, "hold")}, ${counted(faults.length, "fault")}, ${counted(violations.length, "violation")}`;
by("theme").onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; recolor(); };
prefersDark.addEventListener("change", recolor);
addEventListener("hashchange", obey);
new ResizeObserver(() => { lay(); redrawMap(); repaint(); }).observe(stage);
lay();
obey();
listen();
