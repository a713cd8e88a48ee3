// Colors and textures, in the form of the moment: dark or light.

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

let look = {};

// readLook takes the colors from the style sheet.
function readLook() {
  const style = getComputedStyle(root), textures = new Map();
  const color = name => {
    const value = style.getPropertyValue(`--${name}`).trim();
    const both = /^light-dark\((.*),\s*([^,]*)\)$/.exec(value);
    return both ? both[dark() ? 2 : 1].trim() : value;
  };
  look = { textures, sans: "system-ui, sans-serif", mono: color("mono") };
  for (const name of ["bg", "panel", "ink", "soft", "line", "lane", "void", "fault", "accent", "bad", "oddfill"]) look[name] = color(name);
  look.names = Array.from({ length: 7 }, (_, i) => color(`n${i}`));
  look.onName = look.names.map(paint => (brightness(paint) > 0.18 ? "#0b0d10" : "#ffffff"));
}

// colorOf is that of a lock's name. Names beyond the seventh share.
const colorOf = name => (name < 0 ? look.soft : look.names[name % look.names.length]);

// texture returns a pattern of one color on nothing: "slope" and "back" are stripes, "upright" too, "dots".
function texture(ctx, kind, color) {
  const key = `${kind} ${color}`;
  if (!look.textures.has(key)) {
    const size = 6, tile = document.createElement("canvas"), scale = devicePixelRatio || 1;
    tile.width = tile.height = Math.round(size * scale);
    const t = tile.getContext("2d");
    t.scale(tile.width / size, tile.height / size);
    t.strokeStyle = t.fillStyle = color;
    t.lineWidth = 1.6;
    t.beginPath();
    const lines = {
      slope: [[-1, 1, 1, -1], [-1, 7, 7, -1], [5, 7, 7, 5]],
      back: [[-1, 5, 1, 7], [-1, -1, 7, 7], [5, -1, 7, 1]],
      upright: [[1.5, 0, 1.5, size], [4.5, 0, 4.5, size]],
      dots: [],
    }[kind];
    for (const [x0, y0, x1, y1] of lines) { t.moveTo(x0, y0); t.lineTo(x1, y1); }
    t.stroke();
    if (kind === "dots") for (const [x, y] of [[1.5, 1.5], [4.5, 4.5]]) t.fillRect(x - 0.9, y - 0.9, 1.8, 1.8);
    const pattern = ctx.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(size / tile.width));
    look.textures.set(key, pattern);
  }
  return look.textures.get(key);
}

// sized makes a canvas as sharp as the screen and returns its context, scaled to CSS pixels.
function sized(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const w = Math.round(width * scale), h = Math.round(height * scale);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}
