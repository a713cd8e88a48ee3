'use strict';
const $ = (at) => document.querySelector(at);
const chosen = { name: '', permits: false };

// Names of locks and of clients may hold anything: they become text, never markup, and what would not show shows.
const shown = (text) => String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');
function el(tag, cls, ...inside) {
  const e = document.createElement(tag);
  e.className = cls;
  e.append(...inside.map((part) => (part instanceof Node ? part : shown(part))));
  return e;
}
const row = (...cells) => {
  const tr = el('tr', '');
  for (const cell of cells) tr.append(cell instanceof Node ? el('td', '', cell) : Array.isArray(cell) ? el('td', 'n', cell[0]) : el('td', '', cell));
  return tr;
};
const table = (heads, rows) => {
  const head = el('tr', '');
  for (const h of heads) head.append(Array.isArray(h) ? el('th', 'n', h[0]) : el('th', '', h));
  return el('div', 'scroll', el('table', '', el('thead', '', head), el('tbody', '', ...rows)));
};

function span(ms) {
  if (ms > 1e15) return 'no end';
  const s = ms / 1000;
  return s < 10 ? s.toFixed(1) + ' s' : s < 120 ? Math.floor(s) + ' s' : s < 7200 ? Math.floor(s / 60) + ' min' : s < 172800 ? Math.floor(s / 3600) + ' h' : Math.floor(s / 86400) + ' d';
}
const since = (at) => span(Math.max(0, Date.now() - Date.parse(at)));
const client = (c, owner) => (c ? `${c.name} on ${c.host} (pid ${c.pid})` : owner || '–');
const count = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;

const states = {
  '': ['odd', 'connecting'], up: ['good', 'up'], granting: ['good', 'up'], steady: ['good', 'up'], behind: ['good', 'up, clock behind'],
  guarded: ['odd', 'guarded'], unsteady: ['odd', 'clock ran ahead'], refused: ['bad', 'refused'], down: ['bad', 'down'],
};
function master(m) {
  const [cls, word] = states[m.state] || ['odd', m.state];
  const left = m.until ? Date.parse(m.until) - Date.now() : 0;
  return el('li', '', el('b', cls, '● ' + word), m.master, el('span', 'soft', 'for ' + since(m.since)),
    el('span', cls, left > 0 ? `grants nothing for another ${span(left)}` : m.why || ''));
}

function lock(l) {
  const pick = el('button', '', l.name);
  pick.dataset.key = (l.semaphore ? 'p ' : 'l ') + l.name;
  pick.onclick = () => { Object.assign(chosen, { name: l.name, permits: l.semaphore }); look(); };
  const by = l.semaphore ? count(l.slots, 'permit') : !l.held ? '(no majority)' : l.holder === 'shared' ? count(l.readers, 'reader') : client(l.client, l.holder);
  const tr = row(pick, by + (l.count > 1 ? ` × ${l.count}` : ''), [l.for_ms ? span(l.for_ms) : '–'], [span(l.left_ms)], [l.waiting], [l.masters], [l.token || '–']);
  if (l.name === chosen.name && l.semaphore === chosen.permits) tr.className = 'chosen';
  return tr;
}

function name(n, line, force) {
  $('#name').hidden = !n;
  if (!n) return;
  $('#name h2').textContent = shown((chosen.permits ? 'Permits of ' : '') + n.name);
  const held = chosen.permits ? n.held > 0 : n.held;
  $('#name .note').textContent = shown(n.error || (!held ? 'free' : chosen.permits ? count(n.held, 'permit') + ' held' : n.readers ? `read by ${n.readers.length}` : `held by ${client(n.client, n.holder)}, owner ${n.holder}`));
  const parts = [table(['Master', 'Holder', ['Left'], ['Token'], 'Note'], n.masters.map((m) => row(m.master,
    m.error ? '?' : chosen.permits ? count(m.slots.length, 'permit') : m.readers ? count(m.readers.length, 'reader') : m.holder || 'free',
    [m.left_ms ? span(m.left_ms) : '–'], [m.token || '–'], m.error || (m.guard_ms ? `grants nothing for another ${span(m.guard_ms)}` : ''))))];
  const people = (title, all, more) => all && all.length && parts.push(el('h3', '', title), table(['', 'Client', 'Owner', ''], all.map((w, i) => row([w.slot ?? i + 1], client(w.client, w.owner || w.holder), w.owner || w.holder, more(w)))));
  people('Slots', n.slots, (s) => `${span(s.left_ms)} left, token ${s.token}`);
  people('Readers', n.readers, (r) => `${span(r.left_ms)} left`);
  people('Waiting, the first one first', line, (w) => (w.shared ? 'to read' : ''));
  const free = el('button', 'bad', 'Free it, whoever has it');
  free.dataset.key = 'free';
  free.onclick = () => confirm(`Free ${shown(n.name)}? Its holder may be at work, and learns of it only at its next renewal.`) && post('force', free, { name: n.name, permits: chosen.permits ? '1' : '' });
  if (force && held) parts.push(el('p', '', free));
  $('#name .parts').replaceChildren(...parts);
}

function clients(all) {
  const sets = all ? all.sets : [];
  const label = (set) => String.fromCharCode(65 + Math.max(0, sets.findIndex((s) => s.set === set)));
  $('#clients .note').textContent = !all ? 'Too few masters answered.' : sets.length ? '' : 'Nobody uses these masters, or nobody keeps a record.';
  $('#clients tbody').replaceChildren(...(all ? all.clients : []).map((c) => row(c.name, c.host, [c.pid], [since(c.since)],
    c.seen_ms > 30000 ? el('b', 'odd', span(c.seen_ms) + ': dead?') : [span(c.seen_ms)], [c.holds], [c.waits], [`${c.at}/${c.masters}`],
    c.refused ? el('b', 'bad', label(c.set) + ': came second, takes no lock') : label(c.set), c.version)));
  $('#clients ul').replaceChildren(...sets.map((s) => el('li', 'soft', el('b', '', label(s.set)), `${count(s.clients, 'client')}: ${s.set}`)),
    ...(all ? all.pairs : []).filter((p) => !p.safe).map((p) => el('li', 'bad', `${p.sets.map(label).join(' and ')} are not known to be safe together.`)));
}

function show(state) {
  const list = state.list;
  $('#locks .note').textContent = !list ? 'Too few masters answered.' : !list.locks.length ? 'Nothing that matches is held.' : list.more ? 'There may be more: narrow it down with a pattern.' : '';
  const key = document.activeElement.dataset.key;
  $('#locks tbody').replaceChildren(...(list ? list.locks : []).map(lock));
  name(state.name, state.line, state.force);
  clients(state.clients);
  if (key) document.querySelectorAll('[data-key]').forEach((e) => e.dataset.key === key && e.focus());
}

const get = async (what, fields) => (await fetch(what + '?' + new URLSearchParams(fields))).json();

// How the masters are costs them nothing, so it is asked for often.
async function health() {
  try {
    const { how, verdict, masters } = await get('masters', {});
    $('#ready').className = how;
    $('#ready').textContent = shown(verdict);
    $('#masters ul').replaceChildren(...masters.map(master));
  } catch (e) {
    $('#ready').className = 'bad';
    $('#ready').textContent = 'redlock ui does not answer: what is below is old.';
  }
  if (!document.hidden) setTimeout(health, 250);
}

// What they say costs them something: the longer it takes, the less often it is asked for; and not by a page that nobody sees.
let asked = 0, again;
async function look() {
  clearTimeout(again);
  const mine = ++asked, began = Date.now();
  const state = await get('look', { pattern: $('#pattern').value, name: chosen.name, permits: chosen.permits ? '1' : '' }).catch(() => null);
  if (mine !== asked) return;
  if (state) show(state);
  if (!document.hidden) again = setTimeout(look, Math.min(5000, Math.max(500, 4 * (Date.now() - began))));
}

async function post(what, button, fields) {
  button.disabled = true;
  const r = await fetch(what, { method: 'POST', body: new URLSearchParams(fields) }).catch((e) => ({ ok: false, text: () => String(e) }));
  button.disabled = false;
  if (!r.ok) return alert(shown(await r.text()));
  look();
  return r.json();
}

const severities = { ok: 'good', note: 'soft', warning: 'odd', error: 'bad' };
$('#examine').onclick = async () => {
  const found = await post('doctor', $('#examine'), {});
  if (!found) return;
  const { how, verdict, report } = found;
  const of = (f) => (!f.masters ? '' : f.masters.length === report.masters.length ? 'each master: ' : f.masters.join(', ') + ': ');
  $('#doctor ul').replaceChildren(el('li', '', el('b', how, verdict)),
    ...report.findings.filter((f) => f.severity !== 'ok').map((f) => el('li', '', el('b', severities[f.severity], f.severity), el('span', 'soft', f.id), of(f) + f.verdict, el('i', '', f.remedy || ''))));
};
$('#pattern').oninput = look;
const wake = () => { if (!document.hidden) { health(); look(); } };
document.onvisibilitychange = wake;
wake();
