// What is arithmetic: nothing here knows the page. testdata/check.js checks it. Times are in microseconds.

const ms = 1e3, second = 1e6, minute = 60 * second, hour = 60 * minute;

// The least that a screen shows.
const shortest = 200;

// step returns the distance between ticks, for at most n of them.
function step(span, n) {
  const steps = [5, 15, 30, 60, 120, 300, 600, 1800, 3600].map(s => s * second);
  if (span / n > 2 * second) return steps.find(s => span / s <= n) || 2 * steps.at(-1);
  const ten = 10 ** Math.floor(Math.log10(span / n));
  return [1, 2, 5, 10].map(k => k * ten).find(s => span / s <= n * (1 + 1e-9));
}

// instant writes a time since the run began, as exact as is worthwhile where ticks are one step apart.
function instant(t, one = 1) {
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(one / second) - 1e-9)));
  const sign = t < 0 ? "−" : "";
  t = Math.abs(t);
  if (t < minute) return `${sign}${(t / second).toFixed(digits)} s`;
  const minutes = Math.floor(t / minute), rest = ((t - minutes * minute) / second).toFixed(digits);
  return `${sign}${minutes}:${rest.padStart(digits ? digits + 3 : 2, "0")}`;
}

// duration writes how long something took, with three digits or so.
function duration(t) {
  if (t < 0) return `−${duration(-t)}`;
  if (t < ms) return `${Math.round(t)} µs`;
  if (t < second) return `${+(t / ms).toPrecision(3)} ms`;
  if (t < minute) return `${+(t / second).toPrecision(4)} s`;
  const [large, small, of] = t < hour ? ["min", "s", second] : ["h", "min", minute];
  const rest = Math.round(t / of) % 60;
  return `${Math.floor(Math.round(t / of) / 60)} ${large}${rest ? ` ${rest} ${small}` : ""}`;
}

// bounded moves and cuts a view so that it shows the run and little else.
function bounded({ from, to }, run) {
  const margin = (run.to - run.from) * 0.01, whole = run.to - run.from + 2 * margin;
  const span = Math.min(whole, Math.max(Math.min(shortest, whole), to - from));
  const middle = (from + to) / 2;
  from = Math.min(Math.max(middle - span / 2, run.from - margin), run.to + margin - span);
  return { from, to: from + span };
}

// zoomed makes a view larger or smaller (a factor below 1), so that t stays where it is.
function zoomed({ from, to }, t, factor, run) {
  const whole = run.to - run.from;
  const smallest = Math.min(shortest, whole) / (to - from), largest = (whole * 1.02) / (to - from);
  factor = Math.min(Math.max(factor, smallest), largest);
  return bounded({ from: t - (t - from) * factor, to: t + (to - t) * factor }, run);
}

function moved({ from, to }, by, run) {
  return bounded({ from: from + by, to: to + by }, run);
}

// around is a view that shows from … to with some room beside it.
function around(from, to, run) {
  const room = Math.max((to - from) * 0.35, 10 * ms);
  return bounded({ from: from - room, to: to + room }, run);
}

// firstAfter returns the index of the first item that ends at or after t. Items do not overlap.
function firstAfter(items, t) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle].last < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

// readFragment reads what an address asks for: #t=12.3-15&name=a&name=b&find=x&hide=waits&theme=dark.
function readFragment(hash) {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const found = { names: asked.getAll("name"), find: asked.get("find") || "", theme: asked.get("theme") || "", hide: [] };
  if (asked.get("hide")) found.hide = asked.get("hide").split(",");
  const span = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(asked.get("t") || "");
  if (span && +span[1] < +span[2]) found.view = { from: +span[1] * second, to: +span[2] * second };
  return found;
}

// writeFragment is the other way about. A view of the whole run is left out.
function writeFragment({ view, names, find, theme, hide }, run) {
  const asks = [];
  if (view.from > run.from || view.to < run.to) {
    const digits = Math.max(1, Math.min(6, Math.ceil(2 - Math.log10((view.to - view.from) / second))));
    const brief = t => String(+(Math.max(0, t) / second).toFixed(digits));
    asks.push(`t=${brief(view.from)}-${brief(view.to)}`);
  }
  for (const name of names) asks.push(`name=${encodeURIComponent(name)}`);
  if (find) asks.push(`find=${encodeURIComponent(find)}`);
  if (hide.length) asks.push(`hide=${hide.join(",")}`);
  if (theme) asks.push(`theme=${theme}`);
  return asks.length ? `#${asks.join("&")}` : "";
}

// family is what kind of harm a fault does: its texture is that of its family.
function family(kind) {
  if (/^(cut|slow|jitter|lossy|reset|client-kill$)/.test(kind)) return "network";
  if (/clock|skew/.test(kind)) return "clock";
  if (/^(kill|stop|pause|replace|busy|client-stop|client-kill-9)/.test(kind)) return "gone";
  return "state";
}

// counted writes a number of things.
function counted(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

// brightness is the relative luminance of a color, #rrggbb: black writing reads better on it above 0.18.
function brightness(color) {
  const [r, g, b] = [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
