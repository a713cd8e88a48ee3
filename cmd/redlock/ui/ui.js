'use strict';
const $ = (at) => document.querySelector(at);
const chosen = { name: '', permits: false }; // the name is coded

// Names of locks and of clients may hold anything: they become text, never markup, and what would not show shows.
const shown = (text) => String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => '\\u{' + c.codePointAt(0).toString(16) + '}');
function el(tag, cls, ...inside) {
  const e = document.createElement(tag);
  e.className = cls;
  e.append(...inside.map((part) => (part instanceof Node ? part : shown(part))));
  return e;
}
// A name as a form has it. JSON has the bytes of one that is not UTF-8.
const coded = (n) => (n.name_base64 ? atob(n.name_base64).replace(/./gs, (c) => '%' + c.charCodeAt(0).toString(16).padStart(2, '0')) : encodeURIComponent(n.name));
// A heading is its text, whether numbers are below it, and what it means.
const name = ['Name'], number = (text, title) => [text, true, title];
const heads = {
  locks: [name, ['Holder'], number('Held for'), number('Left', 'until it is free, unless it is renewed'), number('Waiting'), number('At', 'how many masters say so'), number('Token', 'fencing token: larger for each later hold')],
  clients: [name, ['Host'], number('PID'), number('Up', 'since the client was made'), number('Seen', 'since it last said something'), number('Holds'), number('Waits'),
    number('At', 'how many of its masters have its record'), ['Set', false, 'with whom it shares masters, leases and guard: see below'], ['Version']],
};
function table(heads, rows) {
  const head = el('tr', '');
  for (const [text, n, title] of heads) head.append(Object.assign(el('th', n ? 'n' : '', text), title && { title }));
  const body = rows.map(({ cells, chosen }) => {
    const tr = el('tr', chosen ? 'chosen' : '');
    cells.forEach((cell, i) => {
      const td = el('td', heads[i][1] ? 'n' : '', ...(cell === '' ? [] : [cell]));
      td.dataset.head = heads[i][0];
      tr.append(td);
    });
    return tr;
  });
  return el('table', '', el('thead', '', head), el('tbody', '', ...body));
}
const row = (...cells) => ({ cells });

function span(ms) {
  if (ms > 9e12) return 'no end';
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
  pick.dataset.key = (l.semaphore ? 'p ' : 'l ') + l.name + (l.name_base64 || '');
  pick.onclick = () => { Object.assign(chosen, { name: coded(l), permits: l.semaphore }); look(); };
  const by = l.semaphore ? count(l.slots, 'permit') : !l.held ? '(no majority)' : l.holder === 'shared' ? count(l.readers, 'reader') : client(l.client, l.holder);
  return { chosen: coded(l) === chosen.name && l.semaphore === chosen.permits,
    cells: [pick, by + (l.count > 1 ? ` × ${l.count}` : ''), l.for_ms ? span(l.for_ms) : '–', span(l.left_ms), l.waiting, l.masters, l.token || '–'] };
}

function showName(n, line, force) {
  $('#name').hidden = !n;
  if (!n) return;
  const { permits } = chosen;
  $('#name h2').textContent = shown((permits ? 'Permits of ' : '') + n.name);
  const by = permits ? count(n.slots.length, 'permit') : n.readers && n.readers.length ? count(n.readers.length, 'reader') : client(n.client, n.holder);
  const owners = permits ? n.slots.map((s) => s.holder) : n.readers && n.readers.length ? n.readers.map((r) => r.owner) : [n.holder];
  $('#name .note').textContent = shown(n.held === null ? 'Unknown: too few masters answered.' : !n.held ? 'free' : permits ? by + ' held' : n.holder === 'shared' ? 'held by ' + by : `held by ${by}, owner ${n.holder}`);
  const note = (m) => m.error || (m.guard_ms ? `grants nothing for another ${span(m.guard_ms)}` : '');
  const parts = [permits ? table([['Master'], number('Held'), ['Note']], n.masters.map((m) => row(m.master, m.error ? '?' : m.slots.length, note(m))))
    : table([['Master'], ['Holder'], number('Left'), number('Token'), ['Note']], n.masters.map((m) => row(m.master,
      m.error ? '?' : m.readers ? count(m.readers.length, 'reader') : m.holder || 'free', m.left_ms ? span(m.left_ms) : '–', m.token || '–', note(m))))];
  const people = (title, first, last, all, more) => all && all.length && parts.push(el('h3', '', title),
    table([[first], ['Client'], ['Owner'], [last]], all.map((w, i) => row(w.slot ?? i + 1, client(w.client, w.owner || w.holder), w.owner || w.holder, more(w)))));
  people('Slots', 'Slot', 'Note', n.slots, (s) => `${span(s.left_ms)} left, token ${s.token}`);
  people('Readers', '#', 'Left', n.readers, (r) => span(r.left_ms));
  people('Waiting, in order', '#', 'Note', line, (w) => (w.shared ? 'to read' : ''));
  const free = el('button', 'bad', 'Free it, whoever has it');
  free.dataset.key = 'free';
  free.onclick = () => confirm(`Free ${shown(n.name)}, held by ${shown(by)}? Its holder may be at work, and learns of it only at its next renewal.`)
    && post('force', free, [['name', coded(n)], ['permits', permits ? '1' : ''], ...owners.map((o) => ['owner', encodeURIComponent(o)])]);
  if (force && n.held) parts.push(el('p', '', free));
  $('#name .parts').replaceChildren(...parts);
}

// The pages of rows: locks behind a name, coded, and clients behind so many.
const at = { after: [''], skip: [0] };
function turn(place, back, on) {
  const button = (text, key, go) => {
    const b = el('button', '', text);
    b.dataset.key = place + key;
    b.onclick = () => { go(); look(); };
    return b;
  };
  $(place + ' .turn').replaceChildren(...(back ? [button('Back', 'back', back)] : []), ...(on ? [button('Next', 'next', on)] : []));
}

function showLocks(list) {
  $('#locks .rows').replaceChildren(table(heads.locks, list.locks.map(lock)));
  turn('#locks', at.after.length > 1 && (() => at.after.pop()), list.more && list.locks.length && (() => at.after.push(coded(list.locks.at(-1)))));
  return list.locks.length ? '' : list.more ? 'There may be more: narrow it down with a pattern.' : 'Nothing that matches is held.';
}

function showClients(all, total) {
  const { sets, clients } = all;
  $('#clients .rows').replaceChildren(table(heads.clients, clients.map((c) => row(c.name, c.host, c.pid, since(c.since),
    c.seen_ms > 30000 ? el('b', 'odd', span(c.seen_ms) + ': dead?') : span(c.seen_ms), c.holds, c.waits, `${c.at}/${c.masters}`,
    c.label || 'other', c.version))));
  $('#clients ul').replaceChildren(...sets.map((s) => el('li', 'soft', el('b', '', s.label), `${count(s.clients, 'client')}: ${s.set}`)),
    ...all.pairs.map((p) => el('li', 'bad', `${p.labels.join(' and ')} are not known to be safe together.`)));
  const skipped = at.skip.at(-1), next = skipped + clients.length;
  turn('#clients', at.skip.length > 1 && (() => at.skip.pop()), next < total && (() => at.skip.push(next)));
  return !total ? 'Nobody uses these masters, or nobody keeps a record.' : clients.length < total ? `${skipped + 1} to ${next} of ${total}` : '';
}

// When rows were there. Where too few masters answer, the last ones stay, and say how old they are.
const when = {};
function keep(place, draw) {
  const old = !draw;
  if (draw) when[place] = { note: draw(), at: Date.now() };
  $(place + ' .rows').classList.toggle('old', old);
  $(place + ' .note').textContent = !old ? when[place].note : 'Too few masters answer.' + (when[place] ? ` This was so ${span(Date.now() - when[place].at)} ago.` : '');
}

function show(state) {
  const key = document.activeElement.dataset.key;
  keep('#locks', state.list && (() => showLocks(state.list)));
  keep('#clients', state.clients && (() => showClients(state.clients, state.total)));
  showName(state.name, state.line, state.force);
  if (key) document.querySelectorAll('[data-key]').forEach((e) => e.dataset.key === key && e.focus());
}

// A form of fields whose values are coded.
const form = (fields) => fields.map((f) => f.join('=')).join('&');
const get = async (what, fields, signal) => (await fetch(what + '?' + form(fields), { signal })).json();

// How the masters are costs them nothing, so it is asked for often.
async function health() {
  try {
    const { how, verdict, masters } = await get('masters', []);
    $('#ready').className = how;
    $('#ready').textContent = shown(verdict);
    $('#masters ul').replaceChildren(...masters.map(master));
    $('main').className = '';
  } catch (e) {
    $('main').className = 'old';
    $('#ready').className = 'bad';
    $('#ready').textContent = 'redlock ui does not answer: what is below is old.';
  }
  if (!document.hidden) setTimeout(health, 250);
}

// What they say costs them something: the longer it takes, the less often it is asked for; and not by a page that nobody sees.
let asking, again, pressed, waiting;
async function look() {
  clearTimeout(again);
  if (asking) asking.abort();
  waiting = null;
  const mine = (asking = new AbortController()), began = Date.now();
  const state = await get('look', [['pattern', encodeURIComponent($('#pattern').value)], ['after', at.after.at(-1)], ['skip', at.skip.at(-1)], ['name', chosen.name], ['permits', chosen.permits ? '1' : '']], mine.signal).catch(() => null);
  if (mine !== asking) return;
  if (pressed) waiting = state;
  else if (state) show(state);
  if (!document.hidden) again = setTimeout(look, Math.min(5000, Math.max(500, 4 * (Date.now() - began))));
}
// A button that is drawn anew while it is pressed would not be clicked.
document.onpointerdown = () => { pressed = true; };
document.onpointerup = document.onpointercancel = () => setTimeout(() => {
  pressed = false;
  if (waiting) show(waiting);
  waiting = null;
});

async function post(what, button, fields) {
  button.disabled = true;
  const r = await fetch(what, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: form(fields) }).catch((e) => ({ ok: false, text: () => String(e) }));
  button.disabled = false;
  if (!r.ok) return alert(shown(await r.text()));
  look();
  return r.json();
}

const severities = { ok: 'good', note: 'soft', warning: 'odd', error: 'bad' };
$('#examine').onclick = async () => {
  const found = await post('doctor', $('#examine'), []);
  if (!found) return;
  const { how, verdict, report } = found;
  const of = (f) => (!f.masters ? '' : f.masters.length === report.masters.length ? 'each master: ' : f.masters.join(', ') + ': ');
  $('#doctor ul').replaceChildren(el('li', '', el('b', how, verdict)),
    ...report.findings.filter((f) => f.severity !== 'ok').map((f) => el('li', '', el('b', severities[f.severity], f.severity), el('span', 'soft', f.id), of(f) + f.verdict, el('i', '', f.remedy || ''))));
};
$('#pattern').oninput = () => { at.after = ['']; look(); };
const wake = () => { if (!document.hidden) { health(); look(); } };
document.onvisibilitychange = wake;
wake();
