// Pointers, the wheel, and keys.

const place = (e, canvas) => { const box = canvas.getBoundingClientRect(); return { x: e.clientX - box.left, y: e.clientY - box.top }; };

function listen() {
  const fingers = new Map(); // pointers that are down, by id
  let pressed = null, travel = 0;

  wide.addEventListener("pointerdown", e => {
    if (e.button) return;
    fingers.set(e.pointerId, place(e, wide));
    [pressed, travel] = [e.pointerId, 0];
    wide.setPointerCapture(e.pointerId);
  });
  wide.addEventListener("pointermove", e => {
    const now = place(e, wide), before = fingers.get(e.pointerId);
    if (!before) return hover(e, now);
    const other = [...fingers].find(([id]) => id !== e.pointerId);
    if (other) {
      const gap = (a, b) => Math.max(20, Math.abs(a.x - b.x));
      show(zoomed(state.view, tOf((now.x + other[1].x) / 2), gap(before, other[1]) / gap(now, other[1]), run));
      travel = Infinity;
    } else {
      travel += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (travel > 4) {
        wide.classList.add("dragging");
        show(moved(state.view, (before.x - now.x) * pixel(), run));
        if (e.pointerType === "mouse") scrollBy(0, before.y - now.y);
      }
    }
    fingers.set(e.pointerId, place(e, wide));
  });
  const lift = e => {
    fingers.delete(e.pointerId);
    wide.classList.remove("dragging");
    if (e.type === "pointerup" && e.pointerId === pressed && travel <= 4) {
      const at = place(e, wide);
      pin(hit(at.x, at.y), e.clientX, e.clientY);
    }
  };
  wide.addEventListener("pointerup", lift);
  wide.addEventListener("pointercancel", lift);
  wide.addEventListener("pointerleave", e => {
    if (e.pointerType !== "mouse") return;
    [state.over, state.cursor] = [null, null];
    if (!state.pinned) showTip(null);
    repaintOver();
  });
  wide.addEventListener("wheel", e => {
    const x = place(e, wide).x, unit = e.deltaMode ? 16 : 1;
    if (x < layout.left) return; // the page scrolls
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) show(moved(state.view, (e.deltaX || e.deltaY) * unit * pixel(), run));
    else show(zoomed(state.view, tOf(x), Math.exp(Math.max(-60, Math.min(60, e.deltaY * unit)) * 0.006), run));
  }, { passive: false });
  wide.addEventListener("dblclick", e => show(zoomed(state.view, tOf(place(e, wide).x), 0.25, run)));
  wide.addEventListener("keydown", press);
  document.addEventListener("keydown", e => { if (e.key === "Escape") pin(null); });
  for (const button of document.querySelectorAll("[data-key]")) button.onclick = () => act(button.dataset.key, false);
  listenMap();
}

function hover(e, at) {
  if (e.pointerType === "touch") return;
  state.cursor = at.x >= layout.left ? tOf(at.x) : null;
  state.over = hit(at.x, at.y);
  wide.classList.toggle("over", !!state.over);
  if (!state.pinned) showTip(state.over, e.clientX, e.clientY);
  repaintOver();
}

function press(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (act(e.key, e.shiftKey)) e.preventDefault();
}

// act does what a key stands for, and reports whether it stands for anything.
function act(key, shift) {
  const { view } = state, wideness = view.to - view.from, middle = (view.from + view.to) / 2;
  const by = wideness * (shift ? 0.5 : 0.1);
  switch (key) {
    case "ArrowLeft": show(moved(view, -by, run)); return true;
    case "ArrowRight": show(moved(view, by, run)); return true;
    case "+": case "=": show(zoomed(view, middle, 0.6, run)); return true;
    case "-": case "_": show(zoomed(view, middle, 1 / 0.6, run)); return true;
    case "0": show(run); return true;
    case "Home": show(moved(view, -2 * end, run)); return true;
    case "End": show(moved(view, end * 2, run)); return true;
    case ".": case ",": next(key === "." ? 1 : -1); return true;
    case "v": case "V": nextViolation(key === "v" ? 1 : -1); return true;
    case "Enter": if (state.over) pin(state.over); return true;
  }
  return false;
}

// next pins the next hold in the order of grants, and moves the view if it is outside.
function next(by) {
  const all = holdsInOrder.filter(bar => bar.wanted), { from, to } = state.view;
  if (!all.length) return;
  let i = all.indexOf(state.pinned);
  if (i >= 0) i += by;
  else i = by > 0 ? all.findIndex(bar => bar.at >= from) : all.findLastIndex(bar => bar.at <= to);
  const bar = all[Math.min(Math.max(0, i), all.length - 1)];
  if (bar.at < from || bar.at > to) show(moved(state.view, bar.at - (from + to) / 2, run));
  pin(bar);
}

function nextViolation(by) {
  const n = violations.length;
  if (n) visit(violations[state.violation ? (state.violation.index + by + n) % n : by > 0 ? 0 : n - 1]);
}

// listenMap lets the window on the map be moved, widened at its ends, and drawn anew.
function listenMap() {
  let grip = null; // what is dragged, and from where
  mapCanvas.addEventListener("pointerdown", e => {
    const x = place(e, mapCanvas).x, a = mapX(Math.max(run.from, state.view.from)), b = mapX(Math.min(end, state.view.to)), t = mapT(x);
    mapCanvas.setPointerCapture(e.pointerId);
    const whole = b - a > (layout.width - layout.left - layout.right) * 0.98;
    if (Math.abs(x - a) < 7) grip = { fixed: state.view.to };
    else if (Math.abs(x - b) < 7) grip = { fixed: state.view.from };
    else if (!whole && x > a && x < b) grip = { last: t };
    else grip = { fixed: t, fresh: x };
  });
  mapCanvas.addEventListener("pointermove", e => {
    if (!grip) return;
    const x = place(e, mapCanvas).x, t = Math.min(Math.max(run.from, mapT(x)), end);
    if (grip.last !== undefined) {
      show(moved(state.view, mapT(x) - grip.last, run));
      grip.last = mapT(x);
    } else if (grip.fresh === undefined || Math.abs(x - grip.fresh) > 4) {
      show(bounded({ from: Math.min(grip.fixed, t), to: Math.max(grip.fixed, t) }, run));
    }
  });
  mapCanvas.addEventListener("pointerup", e => {
    const x = place(e, mapCanvas).x, { from, to } = state.view;
    if (grip && grip.fresh !== undefined && Math.abs(x - grip.fresh) <= 4) show(moved(state.view, mapT(x) - (from + to) / 2, run));
    grip = null;
  });
  mapCanvas.addEventListener("pointercancel", () => { grip = null; });
}
