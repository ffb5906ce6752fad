'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const make = (tag, props = {}, ...inside) => {
    const node = Object.assign(document.createElement(tag), props);
    node.append(...inside);
    return node;
  };
  // What a click or Enter follows.
  const link = (words, follow, props = {}) => {
    const node = make('a', { textContent: words, tabIndex: 0, ...props });
    node.setAttribute('role', 'link');
    node.onclick = follow;
    node.onkeydown = e => { if (e.key === 'Enter') { e.preventDefault(); e.stopPropagation(); follow(); } };
    return node;
  };
  const OUTCOMES = ['returned', 'left by an exception', 'still running', 'its end is missing'];
  const ROW = 17, HEAD = 20, AXIS = 26, CHART = 36;

  // ---- numbers as people read them ----
  const count = n => n.toLocaleString('en-US');
  // As `weave report` rounds: what lies exactly between two numbers becomes the even one, where toFixed takes the larger.
  function fixed(n, digits) {
    const text = n.toFixed(digits), between = Math.abs(n * 2 ** (digits + 1) % 2) === 1;
    return between && text.at(-1) % 2 ? (n - Math.sign(n) / 10 ** digits / 2).toFixed(digits) : text;
  }
  function time(ns) {
    if (ns == null) return '-';
    if (ns < 0) return '-' + time(-ns);
    if (ns < 1e3) return Math.round(ns) + ' ns';
    const two = n => String(Math.floor(n)).padStart(2, '0'), s = ns / 1e9;
    if (s >= 7200) return `${count(Math.floor(s / 3600))}h ${two(s / 60 % 60)}m`;
    if (s >= 120) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
    for (const [unit, name] of [[1e3, 'µs'], [1e6, 'ms'], [1e9, 's']]) {
      const value = ns / unit;
      if (value < 999.5 || name === 's') return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + ' ' + name;
    }
  }
  function bytes(n) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
    let at = 0;
    while (n >= 999.5 && at + 1 < units.length) { n /= 1e3; at++; }
    return fixed(n, !at ? 0 : n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + ' ' + units[at];
  }
  // A moment, to be told from one that is `step` later.
  function moment(ns, step) {
    const [unit, name] = ns >= 999.5e6 ? [1e9, 's'] : ns >= 999.5e3 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
    const digits = Math.ceil(Math.log10(unit / Math.max(1, step)) - 1e-9);
    return fixed(ns / unit, Math.min(9, Math.max(0, digits))) + ' ' + name;
  }
  // Marks a number that is an estimate.
  const about = (words, is) => (is ? '~' : '') + words;
  const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
  const percent = (part, whole) => whole ? fixed(part * 100 / whole, 1) + '%' : '0.0%';
  const shortName = label => {
    const name = label.split('(')[0], parts = name.split('.');
    return parts.slice(-2).join('.') || name;
  };

  // ---- the two blocks of data ----
  async function inflate(id) {
    const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    $(id).remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  function decode(bytes, meta) {
    let at = 0;
    const number = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    const column = (n, type, read) => {
      const all = new type(n);
      for (let i = 0; i < n; i++) all[i] = read();
      return all;
    };
    const tracks = meta.timeline.tracks.map((track, place) => {
      const n = number();
      let last = 0;
      const t = { place, title: track.name, trace: track.trace, number: track.number, activity: track.activity, n };
      t.start = column(n, Float64Array, () => last += number());
      t.duration = column(n, Float64Array, number);
      t.name = column(n, Uint32Array, number);
      t.depth = column(n, Uint32Array, number);
      t.flags = column(n, Uint8Array, () => bytes[at++]);
      t.logical = new Map();
      t.exception = new Map();
      t.values = new Map();
      t.weight = new Map();
      for (let i = 0; i < n; i++) {
        if (t.flags[i] & 4) t.logical.set(i, number());
        if (t.flags[i] & 8) t.exception.set(i, number());
        if (t.flags[i] & 16) t.values.set(i, number());
        if (t.flags[i] & 32) t.weight.set(i, number());
      }
      return t;
    });
    let last = 0;
    const n = meta.timeline.logical;
    const logical = { n, start: new Float64Array(n), duration: new Float64Array(n), name: new Uint32Array(n), trace: new Uint32Array(n), flags: new Uint8Array(n) };
    for (let i = 0; i < n; i++) {
      logical.start[i] = last += number();
      logical.duration[i] = number();
      logical.name[i] = number();
      logical.trace[i] = number();
      logical.flags[i] = bytes[at++];
    }
    return { tracks, logical };
  }

  // ---- what is shown, as the address says it ----
  let meta, data, views = {}, view = null, colours = {};
  const state = { view: 'methods', q: '' };
  const DEFAULTS = { view: 'methods', q: '', by: 'thread', style: 'icicle', sort: 'self', dsort: 'change', rsort: 'rtotal', y: '0' };
  let quiet = false, ready = false;
  function save() {
    if (!ready) return;
    const parts = Object.entries(state).filter(([k, v]) => v !== undefined && v !== '' && String(v) !== DEFAULTS[k]);
    const hash = '#' + parts.map(([k, v]) => k + '=' + encodeURIComponent(v)).join('&');
    if (location.hash !== hash) { quiet = true; history.replaceState(null, '', hash); quiet = false; }
  }
  function load() {
    for (const key of Object.keys(state)) delete state[key];
    Object.assign(state, DEFAULTS);
    for (const part of location.hash.slice(1).split('&')) {
      const [key, value] = part.split('=');
      try { if (key) state[key] = decodeURIComponent(value || ''); } catch { /* not an address of ours */ }
    }
    if (!views[state.view]) state.view = 'methods';
  }
  let matches = null;   // per name: whether the search takes it
  function search() {
    const term = state.q.toLowerCase();
    matches = term ? Uint8Array.from(meta.names, name => name.toLowerCase().includes(term)) : null;
  }
  const matched = name => !matches || matches[name];
  const palette = [];
  function colour(name) {
    if (palette[name]) return palette[name];
    const label = meta.names[name].split('(')[0], type = label.slice(0, label.lastIndexOf('.')) || label;
    let hash = 0x811c9dc5;
    for (let i = 0; i < type.length; i++) hash = Math.imul(hash ^ type.charCodeAt(i), 0x01000193) >>> 0;
    hash ^= hash >>> 15;
    return palette[name] = `hsl(${(hash >>> 0) % 360},${45 + (hash >>> 9) % 25}%,${colours.light})`;
  }
  function theme(name) {
    document.documentElement.dataset.theme = name;
    const style = getComputedStyle(document.documentElement);
    for (const key of ['back', 'panel', 'line', 'text', 'dim', 'mark', 'bad', 'light', 'bar'])
      colours[key] = style.getPropertyValue('--' + key).trim();
    palette.length = 0;
    if (view) view.draw();
  }

  // ---- a canvas that fits its place ----
  function canvas(parent, draw) {
    const node = make('canvas', { tabIndex: 0 });
    parent.append(node);
    const pen = node.getContext('2d');
    let asked = false;
    const paint = () => {
      asked = false;
      const { clientWidth: w, clientHeight: h } = parent, ratio = window.devicePixelRatio || 1;
      if (!w || !h) return;
      if (node.width !== Math.round(w * ratio) || node.height !== Math.round(h * ratio)) {
        node.width = Math.round(w * ratio);
        node.height = Math.round(h * ratio);
      }
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = colours.back;
      pen.fillRect(0, 0, w, h);
      pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
      pen.textBaseline = 'middle';
      draw(pen, w, h);
    };
    const ask = () => { if (!asked) { asked = true; requestAnimationFrame(paint); } };
    new ResizeObserver(ask).observe(parent);
    return { node, draw: ask, paint };
  }
  function text(pen, words, x, y, room) {
    const most = Math.floor(room / 6.8);
    if (most < 3) return;
    pen.fillText(words.length > most ? words.slice(0, most - 1) + '…' : words, x, y);
  }
  function hint(event, words) {
    const box = $('hint');
    box.hidden = !words;
    if (!words) return;
    box.textContent = words;
    const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const y = Math.min(event.clientY + 16, innerHeight - box.offsetHeight - 8);
    box.style.left = Math.max(0, x) + 'px';
    box.style.top = Math.max(0, y) + 'px';
  }
  // The first place in sorted numbers whose number is above `value`.
  function above(sorted, value, from = 0) {
    let low = from, high = sorted.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (sorted[mid] > value) high = mid; else low = mid + 1;
    }
    return low;
  }

  // ---- a range of the timeline ----
  let shown = null;   // what table, tree and flame graph are of, if a range is chosen
  const all = () => shown || meta;
  // Of durations in their order, each with the calls that took so long, and so many calls in all.
  function quantile(sorted, calls, share) {
    let rank = Math.max(1, Math.ceil(share * calls));
    for (const [duration, weight] of sorted) if ((rank -= weight) <= 0) return duration;
    return sorted.length ? sorted.at(-1)[0] : null;
  }
  // As `weave report --from --until` counts: clipped times, calls that run in the range, durations of those that end in it.
  function ranged(a, b) {
    const methods = new Map(), tree = { parent: [], name: [], calls: [], self: [], total: [], errors: [], estimated_from: [] }, places = [new Map()];
    const details = new Map(meta.methods.map(m => [m.label, m]));
    const runs = (start, end) => start < b && (end > a || start >= a);
    const clip = (start, end) => Math.max(0, Math.min(end, b) - Math.max(start, a));
    const of = name => {
      let row = methods.get(name);
      if (!row) {
        const { label, source, line } = details.get(meta.names[name]) || { label: meta.names[name] };
        methods.set(name, row = { label, source, line, self_ns: 0, total_ns: 0, calls: 0, recorded: 0, errors: 0, ended: [] });
      }
      return row;
    };
    // A sampled call counts for all that it stands for.
    const counts = (row, start, end, outcome, weight) => {
      row.calls += weight;
      row.recorded++;
      if (end > b || outcome > 1) return;
      row.ended.push([end - start, weight]);
      if (outcome === 1) row.errors += weight;
    };
    const child = (parent, name) => {
      const known = places[parent + 1], at = known.get(name);
      if (at !== undefined) return at;
      const node = tree.parent.length;
      known.set(name, node);
      places.push(new Map());
      tree.parent.push(parent);
      tree.name.push(name);
      for (const key of ['calls', 'self', 'total', 'errors', 'estimated_from']) tree[key].push(0);
      return node;
    };
    const excluded = new Set(meta.excluded || []), idle = meta.names.map(label => excluded.has(label));
    for (const track of data.tracks) {
      const nodes = [], names = [], pieces = [], weights = [];
      for (let i = 0; i < track.n && track.start[i] < b; i++) {
        const start = track.start[i], end = start + track.duration[i];
        if (!runs(start, end)) continue;
        const depth = track.depth[i], name = track.name[i], outcome = track.flags[i] & 3, row = of(name), whole = clip(start, end), weight = track.weight.get(i) ?? 1;
        // What ended as the range begins is not in it, though a call of no time in it may be.
        if (depth && nodes[depth - 1] === undefined) continue;
        nodes.length = names.length = pieces.length = weights.length = depth;
        // Time in an excluded call is nobody's.
        const within = excluded.size > 0 && names.some(name => idle[name]), time = within || idle[name] ? 0 : whole;
        if (idle[name] && !within) {
          nodes.forEach((node, at) => {
            tree.total[node] -= whole * weights[at];
            if (!pieces[at] && names.indexOf(names[at]) === at) of(names[at]).total_ns -= whole * weights[at];
          });
        }
        const around = depth ? nodes[depth - 1] : -1, node = child(around, name);
        tree.total[node] += time * weight;
        tree.self[node] += time * weight;
        tree.calls[node] += weight;
        tree.estimated_from[node]++;
        if (end <= b && outcome === 1) tree.errors[node] += weight;
        row.self_ns += time * weight;
        if (depth && !within) {
          tree.self[around] -= whole * weights[depth - 1];
          of(names[depth - 1]).self_ns -= whole * weights[depth - 1];
        }
        // A logical call counts as one, below.
        if (!track.logical.has(i)) {
          counts(row, start, end, outcome, weight);
          if (!names.includes(name)) row.total_ns += time * weight;
        }
        weights.push(weight);
        nodes.push(node);
        names.push(name);
        pieces.push(track.logical.has(i));
      }
    }
    const { logical } = data;
    for (let i = 0; i < logical.n; i++) {
      const start = logical.start[i], end = start + logical.duration[i];
      if (!runs(start, end)) continue;
      const row = of(logical.name[i]);
      counts(row, start, end, logical.flags[i] & 3, 1);
      row.total_ns += clip(start, end);
    }
    const rows = [...methods.values()];
    for (const row of rows) {
      const ended = row.ended.sort((x, y) => x[0] - y[0]), calls = ended.reduce((sum, [, weight]) => sum + weight, 0);
      [row.min_ns, row.p50_ns, row.p90_ns, row.p99_ns, row.max_ns] = [0, .5, .9, .99, 1].map(share => quantile(ended, calls, share));
      if (row.calls > row.recorded) row.estimated_from = row.recorded;
    }
    // Where each call stands for itself there is nothing to mark.
    tree.estimated_from = tree.estimated_from.map((recorded, i) => tree.calls[i] > recorded ? recorded : 0);
    return { methods: rows.sort((x, y) => y.self_ns - x.self_ns), tree };
  }
  function setRange(a, b) {
    delete state.open;
    delete state.node;
    if (b > a) [state.r0, state.r1] = [Math.round(a), Math.round(b)];
    else delete state.r0, delete state.r1;
    showRange();
    save();
  }
  function showRange() {
    const a = +state.r0, b = +state.r1, is = b > a, was = $('range').textContent;
    $('range').hidden = !is;
    $('range').textContent = is ? `${moment(a, (b - a) / 100)} to ${moment(b, (b - a) / 100)} ✕` : '';
    if ($('range').textContent === was) return;
    shown = is ? ranged(a, b) : null;
    Object.assign(views, { methods: methodsView(), tree: treeView(), flame: flameView() });
  }

  // In UTC, and as a clock here shows it.
  function started(t) {
    const date = new Date(t.started_unix_ns / 1e6);
    return date.toISOString() + (date.getTimezoneOffset() ? ` · here ${date.toLocaleString('sv-SE')}` : '');
  }
  // Several traces of one process: of several class loaders, or of one started again under its number.
  const hasTwin = t => meta.traces.some(other => other !== t && other.pid === t.pid && other.command === t.command);
  const processOf = t => hasTwin(t) ? `trace ${meta.traces.indexOf(t) + 1}` : `pid ${t.pid}`;

  // ---- methods ----
  function facts() {
    const box = make('div', { className: 'facts' });
    for (const t of meta.traces.slice(0, 20)) {
      const [first, last] = hasTwin(t) ? [`${processOf(t)} · `, t.artifacts.map(name => ` · ${name}`).join('')] : ['', ''];
      box.append(make('p', {}, make('b', { textContent: t.command || '(command not recorded)' })));
      const lost = t.lost_records + t.overwritten_chunks + t.missing_segments;
      box.append(make('p', { className: 'dim', textContent: `${first}pid ${t.pid} · ${started(t)} · ${time(t.wall_ns)} · ${counted(t.threads, 'thread')} · ${counted(t.records, 'record')} · ${t.file.split(/[/\\]/).pop()}${last}` }));
      if (lost) box.append(make('p', { className: 'bad', textContent: `LOST: ${count(t.lost_records)} records, ${count(t.overwritten_chunks)} chunks overwritten, ${count(t.missing_segments)} segments missing` }));
      for (const note of t.notes) box.append(make('p', { className: 'dim', textContent: 'note: ' + note }));
    }
    if (meta.traces.length > 20) box.append(make('p', { textContent: `and ${meta.traces.length - 20} more traces` }));
    const line = meta.timeline;
    if (shown)
      box.append(make('p', { id: 'ranged', textContent: `Only what ran from ${moment(+state.r0, (state.r1 - state.r0) / 100)} to ${moment(+state.r1, (state.r1 - state.r0) / 100)} (${time(state.r1 - state.r0)})` + (line.calls < line.all_calls ? `, as far as the timeline shows it: the time of calls shorter than ${time(line.least_ns)} counts as their callers' own.` : '.') }));
    else if (line.calls < line.all_calls)
      box.append(make('p', { id: 'reduced', textContent: `The timeline shows ${count(line.calls)} of ${count(line.all_calls)} calls: those of ${time(line.least_ns)} and more. Numbers count all calls.` }));
    return box;
  }
  // Columns that a phone has no room for.
  const SPARE = ['self%', 'min', 'p50', 'p90', 'p99', 'max', 'errors'];
  // A table whose heads sort: columns are [key, head, value, shown]; `choose` is told which row is chosen.
  function table(rows, columns, key = 'sort', choose = null) {
    const body = make('tbody'), head = make('tr');
    let more = 300, lines = [];
    const select = (line, scroll) => {
      for (const other of body.children) other.removeAttribute('aria-selected');
      line.setAttribute('aria-selected', 'true');
      if (scroll) line.scrollIntoView({ block: 'nearest' });
      if (choose) { state.row = line.row.label; save(); choose(line.row.label); }
    };
    const label = columns.find(c => c[0] === 'label');
    const fill = () => {
      const term = state.q.toLowerCase();
      const by = columns.find(c => c[0] === state[key]) || columns[0];
      const kept = rows.filter(r => !term || r.label.toLowerCase().includes(term));
      if (by === label) kept.sort((a, b) => a.label < b.label ? -1 : 1);
      else kept.sort((a, b) => (by[2](b) ?? -1) - (by[2](a) ?? -1));
      body.replaceChildren(...kept.slice(0, more).map(row => {
        const line = make('tr', { tabIndex: -1, row });
        for (const [, head, value, shown, share] of columns) {
          const cell = make('td', { className: SPARE.includes(head) ? 'spare' : '' });
          const content = shown(row, value(row));
          cell.append(content);
          if (share) { cell.classList.add('share'); cell.style.setProperty('--p', Math.min(100, share(row)) + '%'); }
          line.append(cell);
        }
        line.onclick = () => select(line);
        return line;
      }));
      lines = [...body.children];
      if (choose) {
        const chosen = lines.find(line => line.row.label === state.row);
        if (chosen) chosen.setAttribute('aria-selected', 'true');
        choose(state.row);
      }
      if (kept.length > more) {
        const button = make('button', { textContent: `${count(kept.length - more)} more`, onclick: () => { more = Infinity; fill(); } });
        body.append(make('tr', {}, make('td', { colSpan: columns.length }, button)));
      }
      $('found').textContent = term ? `${count(kept.length)} of ${count(rows.length)}` : '';
      for (const th of head.children) th.setAttribute('aria-sort', th.dataset.key === state[key] ? 'descending' : 'none');
    };
    for (const [field, name] of columns) {
      const th = make('th', { textContent: name, tabIndex: 0, className: SPARE.includes(name) ? 'spare' : '', onclick: () => { state[key] = field; save(); fill(); } });
      th.dataset.key = field;
      th.onkeydown = e => { if (e.key === 'Enter') { e.stopPropagation(); th.click(); } };
      head.append(th);
    }
    const keys = e => {
      const at = lines.findIndex(line => line.getAttribute('aria-selected') === 'true');
      const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[e.key];
      if (move) {
        const next = lines[Math.max(0, Math.min(lines.length - 1, at < 0 ? 0 : at + move))];
        if (next) select(next, true);
        return true;
      }
      const follow = e.key === 'Enter' && at >= 0 && e.target.tagName !== 'BUTTON' && lines[at].querySelector('a');
      if (follow) follow.click();
      return !!follow;
    };
    return { node: make('table', {}, make('thead', {}, head), body), fill, keys };
  }
  // To the slowest call of a method that the timeline shows, in the range if one is chosen.
  function toSlowest(label) {
    const name = meta.names.indexOf(label), [a, b] = shown ? [+state.r0, +state.r1] : [0, Infinity];
    let most = -1, best = null;
    const look = (of, place) => {
      for (let i = 0; i < of.n; i++)
        if (of.name[i] === name && of.duration[i] > most && of.start[i] < b && of.start[i] + of.duration[i] >= a) { most = of.duration[i]; best = place + ':' + i; }
    };
    look(data.logical, 'l');
    for (const track of data.tracks) look(track, 't' + track.place);
    Object.assign(state, { q: label, view: 'timeline', by: best?.startsWith('l') ? 'logical' : 'thread', sel: best });
    if (best) reach = true; else delete state.sel;
    apply();
  }
  let reach = false;   // the timeline is to go to what is selected
  const isEstimate = (tree, i) => !!tree.estimated_from?.[i];
  // Who calls a method and whom it calls, as far as the tree has their paths.
  function relations(label) {
    const { tree } = all(), name = meta.names.indexOf(label), callers = new Map(), callees = new Map();
    const add = (to, of, i) => {
      const sum = to.get(of) || { total: 0, calls: 0, is: false };
      to.set(of, { total: sum.total + tree.total[i], calls: sum.calls + tree.calls[i], is: sum.is || isEstimate(tree, i) });
    };
    for (let i = 0; i < tree.parent.length; i++) {
      const parent = tree.parent[i], above = parent < 0 ? -1 : tree.name[parent];
      if (tree.name[i] === name) add(callers, above, i);
      if (above === name) add(callees, tree.name[i], i);
    }
    return [callers, callees].map(all => [...all].sort((x, y) => y[1].total - x[1].total));
  }
  function methodsView() {
    const { methods } = all(), whole = methods.reduce((sum, m) => sum + m.self_ns, 0);
    const plain = (_, n) => n == null ? '-' : count(n), span = (_, ns) => time(ns);
    const scaled = (m, n, show) => about(show(m, n), m.estimated_from && n != null);
    const number = (m, n) => n ? scaled(m, n, plain) : plain(m, n), sum = (m, ns) => scaled(m, ns, span);
    // Of what the program itself left out there were more calls.
    const since = m => m.left_out_from_ns ?? m.counted_from_ns;
    const calls = (m, n) => m.left_out_from_ns == null ? number(m, n)
      : make('span', { textContent: `${number(m, n)}+`, title: `More: left out from ${time(m.left_out_from_ns)} on` });
    const near = (m, ns) => about(time(ns), (m.aggregated || m.estimated_from) && ns != null);
    const columns = [
      ['self', 'self', m => m.self_ns, sum],
      ['self', 'self%', m => m.self_ns, m => m.self_ns == null ? '-' : percent(m.self_ns, whole), m => m.self_ns * 100 / whole],
      ['total', 'total', m => m.total_ns, sum],
      ['calls', 'calls', m => m.calls, calls],
      ...(methods.some(m => m.counted) ? [['counted', 'counted', m => m.counted ?? 0, plain]] : []),
      ...(methods.some(m => m.aggregated) ? [['aggregated', 'summed up', m => m.aggregated ?? 0, plain]] : []),
      ['min', 'min', m => m.min_ns, span],
      ['p50', 'p50', m => m.p50_ns, near],
      ['p90', 'p90', m => m.p90_ns, near],
      ['p99', 'p99', m => m.p99_ns, near],
      ['max', 'max', m => m.max_ns, span],
      ['errors', 'errors', m => m.errors, (m, n) => make('span', { className: n ? 'bad' : 'dim', textContent: number(m, n) })],
      ['label', 'method', m => m.label, m => {
        return link(m.label, () => toSlowest(m.label), { title: `To its slowest call${m.estimated_from ? ` · an estimate from ${counted(m.estimated_from, 'recorded call')}` : ''}${since(m) == null ? '' : ` · ${m.left_out_from_ns == null ? 'only counted' : 'left out'} from ${time(since(m))} on`}${m.source ? ` · ${m.source}:${m.line ?? ''}` : ''}` });
      }],
    ];
    const panel = make('div', { className: 'detail', id: 'relations', hidden: true });
    const grid = table(methods, columns, 'sort', label => {
      panel.hidden = !label;
      if (!label) return;
      const [callers, callees] = relations(label);
      const list = (title, all) => make('div', {}, make('b', { textContent: title }), ...all.slice(0, 40).map(([name, sum]) => make('div', {},
        make('span', { className: 'dim', textContent: `${about(time(sum.total), sum.is)}, ${about(counted(sum.calls, 'call'), sum.is)}  ` }),
        name < 0 ? 'outermost' : link(meta.names[name], () => { state.row = meta.names[name]; save(); grid.fill(); }))),
        all.length > 40 ? `and ${count(all.length - 40)} more` : '');
      const left = all().tree.left_out;
      panel.replaceChildren(make('div', {}, make('b', { id: 'chosen', textContent: label }), left ? ` · ${count(left)} small paths left out` : ''),
        make('div', { className: 'both' }, list('Callers', callers), list('Callees', callees)));
    });
    return {
      title: 'Methods', node: make('div', {}, facts(), grid.node, panel), draw: grid.fill,
      key(e) {
        if (e.key === 'Escape' && state.row) { delete state.row; save(); grid.fill(); return true; }
        return grid.keys(e);
      },
    };
  }

  // ---- timeline ----
  function rowsOf(track) {
    const levels = track.n ? track.depth.reduce((a, b) => Math.max(a, b), 0) + 1 : 0;
    const sizes = new Uint32Array(levels);
    for (let i = 0; i < track.n; i++) sizes[track.depth[i]]++;
    const rows = Array.from(sizes, n => ({ start: new Float64Array(n), end: new Float64Array(n), call: new Uint32Array(n), n: 0 }));
    for (let i = 0; i < track.n; i++) {
      const row = rows[track.depth[i]], at = row.n++;
      row.start[at] = track.start[i];
      row.end[at] = track.start[i] + track.duration[i];
      row.call[at] = i;
    }
    return rows;
  }
  // Logical calls in as few rows as hold them apart; each row has the pieces that ran.
  function lanes() {
    const { logical, tracks } = data, free = [], rows = [], laneOf = new Uint32Array(logical.n);
    const sift = (heap, at) => {
      for (;;) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && heap[child].end < heap[least].end) least = child;
        if (least === at) return;
        [heap[at], heap[least]] = [heap[least], heap[at]];
        at = least;
      }
    };
    for (let i = 0; i < logical.n; i++) {
      const end = logical.start[i] + logical.duration[i];
      let lane;
      if (free.length && free[0].end <= logical.start[i]) {
        lane = free[0].lane;
        free[0].end = Math.max(end, logical.start[i] + 1);
        sift(free, 0);
      } else {
        lane = rows.length;
        rows.push({ start: [], end: [], call: [], pieces: [] });
        free.push({ end, lane });
        for (let at = free.length - 1; at > 0 && free[at].end < free[(at - 1) >> 1].end; at = (at - 1) >> 1)
          [free[at], free[(at - 1) >> 1]] = [free[(at - 1) >> 1], free[at]];
      }
      laneOf[i] = lane;
      rows[lane].start.push(logical.start[i]);
      rows[lane].end.push(end);
      rows[lane].call.push(i);
    }
    for (const track of tracks) for (const [call, whole] of track.logical)
      rows[laneOf[whole]].pieces.push([track.start[call], track.start[call] + track.duration[call], track, call, whole]);
    for (const row of rows) row.pieces.sort((a, b) => a[0] - b[0]);
    return rows;
  }
  function timelineView() {
    const draw = make('div', { className: 'draw' }), detail = make('div', { className: 'detail', textContent: 'Click a call. Drag to pan, Shift and drag for a range; w and s zoom; / searches.' });
    const by = make('button', { id: 'by' }), words = make('span', { className: 'dim' });
    const fit = make('button', { textContent: 'All', title: '0' });
    const node = make('div', { className: 'stage' }, make('div', { className: 'tools' }, by, fit, words), draw, detail);
    const end = Math.max(1, ...meta.traces.map(t => t.wall_ns + t.offset_ns),
      data.tracks.reduce((most, t) => Math.max(most, t.n ? t.start[t.n - 1] : 0), 0));
    // Pools give many threads one name; their numbers tell them apart.
    const twins = new Map();
    const place = track => track.trace + ' ' + track.title;
    for (const track of data.tracks) twins.set(place(track), (twins.get(place(track)) || 0) + 1);
    const cpu = new Map(meta.threads.map(t => [t.trace + ' ' + t.number, t]));
    const used = track => { const t = cpu.get(track.trace + ' ' + track.number); return t ? ` · ${time(t.busy_ns)} in calls, CPU ${time(t.cpu_ns)}` : ''; };
    const threads = data.tracks.map(track => ({ title: track.title + (twins.get(place(track)) > 1 ? ` #${track.number}` : '') + (meta.traces.length > 1 ? ` · ${processOf(meta.traces[track.trace])}` : '') + used(track), track, rows: rowsOf(track), open: true }));
    // What the processes used, at the top and closed at first.
    const charts = meta.traces.filter(t => t.series?.length).map(t => ({ title: `what ${hasTwin(t) ? processOf(t) : `process ${t.pid}`} used`, charts: t.series, rows: [], open: state.used === '1' }));
    let logical = null, groups = [...charts, ...threads], height = 0, y = 0, from = 0, until = end, picked = null, width = 1, pinned = null;
    const tall = group => group.charts ? group.charts.length * CHART : group.rows.length * ROW;
    const layout = () => {
      height = 0;
      for (const group of groups) { group.y = height; height += HEAD + (group.open ? tall(group) : 0) + 4; }
    };
    const box = canvas(draw, paint);
    const nameOf = (group, call) => group.track ? group.track.name[call] : data.logical.name[call];
    function keep() {
      const least = Math.max(50, end * 1e-9), span = Math.min(Math.max(until - from, least), end * 1.02);
      const mid = (from + until) / 2;
      from = mid - span / 2;
      from = Math.min(Math.max(from, -end * .01), end * 1.01 - span);
      until = from + span;
      y = Math.max(0, Math.min(y, height - (draw.clientHeight - AXIS) + 10));
      state.t0 = Math.round(from);
      state.t1 = Math.round(until);
      if (from <= 0 && until >= end) delete state.t0, delete state.t1;
      state.y = Math.round(y);
      save();
      box.draw();
    }
    function zoom(factor, at = .5) {
      const mid = from + (until - from) * at;
      from = mid - (mid - from) * factor;
      until = mid + (until - mid) * factor;
      keep();
    }
    function paint(pen, w, h) {
      width = w;
      const scale = w / (until - from);
      let drawn = 0;
      for (const group of groups) {
        const top = AXIS + group.y - y;
        if (top > h || top + HEAD + tall(group) < AXIS) continue;
        pen.fillStyle = colours.panel;
        pen.fillRect(0, top, w, HEAD - 2);
        pen.fillStyle = colours.dim;
        text(pen, `${group.open ? '▾' : '▸'} ${group.title}`, 8, top + HEAD / 2 - 1, w);
        if (!group.open) continue;
        if (group.charts) { group.charts.forEach((series, i) => chart(pen, w, scale, series, top + HEAD + i * CHART)); continue; }
        if (group.track && group.track.activity.length) {
          const cells = group.track.activity, step = end / cells.length;
          pen.fillStyle = colours.bar;
          for (let i = Math.max(0, Math.floor(from / step)); i < cells.length && i * step < until; i++) {
            const tall = cells[i] * (ROW - 2) / 255;
            if (tall) pen.fillRect((i * step - from) * scale, top + HEAD + ROW - 1 - tall, Math.max(1, step * scale), tall);
          }
        }
        for (let level = 0; level < group.rows.length; level++) {
          const row = group.rows[level], line = top + HEAD + level * ROW;
          if (line > h || line + ROW < AXIS) continue;
          for (let i = above(row.end, from); i < row.start.length && row.start[i] < until;) {
            const x = Math.max(0, (row.start[i] - from) * scale), right = Math.min(w, (row.end[i] - from) * scale);
            const call = row.call[i], name = nameOf(group, call), wide = Math.max(right - x, 1);
            pen.globalAlpha = matched(name) ? 1 : .18;
            pen.fillStyle = colour(name);
            pen.fillRect(x, line, Math.max(wide - (wide > 3 ? .6 : 0), 1), ROW - 2);
            drawn++;
            const flags = group.track ? group.track.flags[call] : data.logical.flags[call];
            if ((flags & 3) === 1) { pen.fillStyle = colours.bad; pen.fillRect(x, line + ROW - 5, wide, 3); }
            if (!group.track) { pen.fillStyle = colours.back; pen.globalAlpha *= .55; pen.fillRect(x, line, wide, ROW - 2); pen.globalAlpha = matched(name) ? 1 : .18; }
            if (wide > 24) { pen.fillStyle = group.track ? '#111' : colours.text; text(pen, shortName(meta.names[name]), x + 4, line + ROW / 2 - 1, wide - 6); }
            if (picked && picked.group === group && picked.call === call) {
              pen.strokeStyle = colours.text;
              pen.lineWidth = 2;
              pen.strokeRect(x + 1, line, Math.max(wide - 2, 1), ROW - 3);
            }
            // What begins within the same pixel is not seen: the next call is the first beyond it.
            i = right - x < 1 ? Math.max(i + 1, above(row.end, from + (Math.floor(x) + 1) / scale, i)) : i + 1;
          }
          if (row.pieces) {
            let next = -1;
            for (const [start, stop, track, call] of row.pieces) {
              const x = (start - from) * scale, right = (stop - from) * scale;
              if (right < 0 || right < next) continue;
              if (x > w) break;
              pen.globalAlpha = matched(track.name[call]) ? 1 : .18;
              pen.fillStyle = colour(track.name[call]);
              pen.fillRect(Math.max(0, x), line + ROW - 6, Math.max(1, Math.min(w, right) - Math.max(0, x)), 4);
              next = right + 1;
            }
          }
          pen.globalAlpha = 1;
        }
      }
      // The head of the thread whose rows are at the top stays there.
      pinned = groups.find(g => g.open && g.y < y && g.y + tall(g) > y) || null;
      draw.dataset.pinned = pinned ? pinned.title : '';
      if (pinned) {
        pen.fillStyle = colours.panel;
        pen.fillRect(0, AXIS, w, HEAD - 2);
        pen.fillStyle = colours.dim;
        text(pen, `▾ ${pinned.title}`, 8, AXIS + HEAD / 2 - 1, w);
      }
      axis(pen, w, scale);
      const line = meta.timeline;
      words.textContent = `${time(until - from)} in view` + (line.calls < line.all_calls ? ` · ${count(line.calls)} of ${count(line.all_calls)} calls: those of ${time(line.least_ns)} and more` : '');
      draw.dataset.drawn = drawn;
    }
    const amount = (unit, value) => unit === 'ns' ? time(value) : unit === 'bytes' ? bytes(value) : value < 100 && value % 1 ? fixed(value, 2) : count(Math.round(value));
    function chart(pen, w, scale, series, top) {
      const room = CHART - 16, low = top + CHART - 3, y = value => low - (series.most ? value / series.most * room : 0);
      pen.fillStyle = colours.bar;
      let last = 0;
      for (const [t, value] of series.points) {
        const x = (last - from) * scale, right = (t - from) * scale;
        last = t;
        if (right < 0 || x > w) continue;
        pen.fillRect(Math.max(0, x), y(value), Math.max(1, Math.min(w, right) - Math.max(0, x)), low - y(value));
      }
      pen.fillStyle = colours.dim;
      text(pen, `${series.label}, up to ${amount(series.unit, series.most)}`, 8, top + 7, w);
    }
    function axis(pen, w, scale) {
      pen.fillStyle = colours.back;
      pen.fillRect(0, 0, w, AXIS - 2);
      const range = choosing || (shown ? [+state.r0, +state.r1] : null);
      if (range) {
        const x = (range[0] - from) * scale, right = (range[1] - from) * scale;
        pen.fillStyle = colours.mark;
        pen.globalAlpha = .35;
        pen.fillRect(x, 0, right - x, AXIS - 2);
        pen.globalAlpha = .1;
        pen.fillRect(x, AXIS, right - x, draw.clientHeight);
        pen.globalAlpha = 1;
      }
      pen.strokeStyle = colours.line;
      pen.fillStyle = colours.dim;
      const raw = (until - from) / Math.max(2, w / 110), unit = 10 ** Math.floor(Math.log10(raw));
      const step = Math.max(1, [1, 2, 5, 10].map(f => f * unit).find(s => s >= raw)), ticks = [];
      pen.lineWidth = 1;
      pen.beginPath();
      for (let t = Math.ceil(from / step) * step; t < until; t += step) {
        const x = Math.round((t - from) * scale) + .5;
        pen.moveTo(x, AXIS - 8);
        pen.lineTo(x, AXIS - 2);
        ticks.push(moment(Math.round(t), step));
        pen.fillText(ticks.at(-1), x + 3, 9);
      }
      draw.dataset.ticks = ticks.join('|');
      pen.moveTo(0, AXIS - 2.5);
      pen.lineTo(w, AXIS - 2.5);
      pen.stroke();
    }
    function at(event) {
      const place = box.node.getBoundingClientRect(), px = event.clientX - place.left, py = event.clientY - place.top + y - AXIS;
      const group = groups.find(g => py >= g.y && py < g.y + HEAD + (g.open ? tall(g) : 0));
      if (!group || event.clientY - place.top < AXIS) return null;
      if (pinned && event.clientY - place.top < AXIS + HEAD) return { group: pinned, head: true };
      const level = Math.floor((py - group.y - HEAD) / ROW);
      if (py - group.y < HEAD) return { group, head: true };
      if (group.charts) {
        const series = group.charts[Math.floor((py - group.y - HEAD) / CHART)], t = from + px * (until - from) / width;
        const point = series && series.points.find(p => p[0] >= t);
        return point ? { group, words: `${series.label}\n${amount(series.unit, point[1])}` } : null;
      }
      const row = group.rows[level], t = from + px * (until - from) / width, slack = (until - from) / width;
      const i = row ? above(row.end, t - slack) : 0;
      return row && i < row.start.length && row.start[i] <= t + slack ? { group, call: row.call[i] } : null;
    }
    const spanOf = ({ group, call }) => {
      const of = group.track || data.logical;
      return [of.start[call], of.duration[call]];
    };
    function describe({ group, call }) {
      const [start, duration] = spanOf({ group, call }), lines = [meta.names[nameOf(group, call)]];
      lines.push(`${time(duration)}, from ${moment(start, (until - from) / 1000)} on`);
      const flags = group.track ? group.track.flags[call] : data.logical.flags[call];
      if (flags & 3) lines.push(OUTCOMES[flags & 3]);
      const weight = group.track ? group.track.weight.get(call) : undefined;
      if (weight !== undefined) lines.push(`stands for ${counted(weight, 'call')}`);
      const thrown = group.track ? group.track.exception.get(call) : undefined;
      if (thrown !== undefined) lines.push(meta.thrown[thrown].filter(Boolean).join(': '));
      const values = group.track ? group.track.values.get(call) : undefined;
      if (values !== undefined) lines.push(meta.values[values]);
      return lines;
    }
    function pick(found, scroll) {
      picked = found;
      if (!found) { delete state.sel; detail.textContent = 'Click a call.'; save(); box.draw(); return; }
      const { group, call } = found, [name, ...rest] = describe(found);
      state.sel = (group.track ? 't' + group.track.place : 'l') + ':' + call;
      const show = (words, jump) => link(words, () => { jump(); detail.focus(); });
      detail.replaceChildren(make('div', {}, make('b', { id: 'picked', textContent: name })), make('div', { textContent: [group.title, ...rest].join(' · ') }));
      if (group.track) {
        const parent = callerOf(group, call), whole = group.track.logical.get(call);
        if (parent !== null) detail.append('in ', show(meta.names[group.track.name[parent]], () => pick({ group, call: parent }, true)), ' ');
        if (whole !== undefined) detail.append(' · piece of ', show('a logical call', () => { mode('logical'); pick({ group: logical[0], call: whole }, true); }));
      } else {
        const pieces = logical[0].rows.flatMap(r => r.pieces).filter(p => p[4] === call);
        detail.append(counted(pieces.length, 'piece') + ': ');
        pieces.slice(0, 40).forEach(([start, stop, track, piece]) => detail.append(
          show(`${track.title} ${time(stop - start)}`, () => { mode('thread'); pick({ group: threads[track.place], call: piece }, true); }), ' '));
      }
      if (scroll) reveal(found);
      save();
      box.draw();
    }
    function callerOf(group, call) {
      const { depth } = group.track;
      for (let i = call - 1; i >= 0 && depth[call] > 0; i--) if (depth[i] < depth[call]) return i;
      return null;
    }
    function reveal({ group, call }) {
      const [start, duration] = spanOf({ group, call });
      if (start + duration < from || start > until || duration * 4e3 < until - from) { from = start - duration * 2 - 50; until = start + duration * 3 + 50; }
      group.open = true;
      layout();
      const level = group.track ? group.track.depth[call] : group.rows.findIndex(r => r.call.includes(call));
      const top = group.y + HEAD + level * ROW;
      if (top < y + HEAD || top > y + draw.clientHeight - AXIS - 2 * ROW) y = top - draw.clientHeight / 3;
      keep();
    }
    function mode(name) {
      state.by = name === 'logical' && data.logical.n ? 'logical' : 'thread';
      if (state.by === 'logical') logical ||= [{ title: `${count(data.logical.n)} logical calls; the lower edge shows where they ran`, track: null, rows: lanes(), open: true }];
      groups = state.by === 'logical' ? [...charts, ...logical] : [...charts, ...threads];
      by.textContent = state.by === 'logical' ? 'by logical call' : 'by thread';
      by.disabled = !data.logical.n;
      by.title = data.logical.n ? 'l' : 'there are no logical calls';
      picked = null;
      y = 0;
      layout();
      keep();
    }
    by.onclick = () => mode(state.by === 'logical' ? 'thread' : 'logical');
    fit.onclick = () => { from = 0; until = end; keep(); };
    let drag = null, choosing = null;
    const momentAt = e => from + (e.clientX - box.node.getBoundingClientRect().left) * (until - from) / width;
    box.node.onpointerdown = e => {
      const range = e.shiftKey || e.clientY - box.node.getBoundingClientRect().top < AXIS ? momentAt(e) : null;
      drag = { x: e.clientX, y: e.clientY, from, until, top: y, moved: false, range };
      box.node.setPointerCapture(e.pointerId);
    };
    box.node.onpointermove = e => {
      if (!drag) { const found = at(e); hint(e, !found || found.head ? '' : found.words || describe(found).join('\n')); return; }
      const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
      drag.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (!drag.moved) return;
      hint(e, '');
      if (drag.range !== null) {
        const ends = [drag.range, momentAt(e)].map(t => Math.min(Math.max(t, 0), end)).sort((a, b) => a - b);
        choosing = ends;
        box.draw();
        return;
      }
      const shift = dx * (drag.until - drag.from) / width;
      from = drag.from - shift;
      until = drag.until - shift;
      y = drag.top - dy;
      keep();
    };
    box.node.onpointerup = e => {
      const moved = drag && drag.moved;
      drag = null;
      if (choosing) { const [a, b] = choosing; choosing = null; setRange(a, b); box.draw(); return; }
      if (moved) return;
      const found = at(e);
      if (found && found.head) {
        found.group.open = !found.group.open;
        if (found.group.charts) { if (found.group.open) state.used = '1'; else delete state.used; }
        layout();
        keep();
      } else if (!found || !found.words) pick(found);
    };
    box.node.ondblclick = e => { const found = at(e); if (found && found.call !== undefined) zoomTo(found); };
    box.node.onpointerleave = e => hint(e, '');
    box.node.addEventListener('wheel', e => {
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) zoom(Math.exp(e.deltaY * .003), (e.clientX - box.node.getBoundingClientRect().left) / width);
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { const shift = (e.deltaX || e.deltaY) * (until - from) / width; from += shift; until += shift; keep(); }
      else { y += e.deltaY; keep(); }
    }, { passive: false });
    function zoomTo(found) {
      const [start, duration] = spanOf(found), room = Math.max(duration * .05, 20);
      from = start - room;
      until = start + duration + room;
      keep();
    }
    // The next call in time, or the one before, whose name the search takes.
    function next(step) {
      if (!matches) return;
      let best = null, start = picked ? spanOf(picked)[0] : step > 0 ? -1 : Infinity;
      for (const group of groups.filter(g => !g.charts)) for (let i = 0, of = group.track || data.logical; i < of.n; i++) {
        if (!matches[of.name[i]] || (of.start[i] - start) * step <= 0) continue;
        if (!best || (of.start[i] - spanOf(best)[0]) * step < 0) best = { group, call: i };
      }
      if (best) pick(best, true);
    }
    function found() {
      let n = 0;
      if (matches) for (const track of data.tracks) for (let i = 0; i < track.n; i++) n += matches[track.name[i]];
      $('found').textContent = matches ? counted(n, 'call') : '';
    }
    mode('thread');
    return {
      title: 'Timeline', node, box,
      draw() { found(); box.draw(); },
      show() {
        const { sel, y: top } = state, [t0, t1] = reach ? [] : [state.t0, state.t1];
        for (const group of charts) group.open = state.used === '1';
        mode(state.by);
        [from, until] = t0 !== undefined && t1 !== undefined && +t1 > +t0 ? [+t0, +t1] : [0, end];
        y = +top || 0;
        const [, kind, place, call] = /^(t|l)(\d*):(\d+)$/.exec(sel || '') || [];
        const group = kind === 't' ? threads[place] : kind === 'l' && state.by === 'logical' ? logical[0] : null;
        if (group && +call < (group.track || data.logical).n) pick({ group, call: +call }, reach); else pick(null);
        reach = false;
        layout();
        keep();
        box.node.focus();
      },
      key(e) {
        const span = until - from, moves = { ArrowLeft: -.15, a: -.15, ArrowRight: .15, d: .15 };
        if (e.key in moves) { from += span * moves[e.key]; until += span * moves[e.key]; keep(); }
        else if (e.key === 'w' || e.key === '+') zoom(.7);
        else if (e.key === 's' || e.key === '-') zoom(1 / .7);
        else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') { y += e.key === 'ArrowUp' ? -60 : 60; keep(); }
        else if (e.key === 'l') by.click();
        else if (e.key === 'r') { setRange(Math.max(0, from), Math.min(end, until)); box.draw(); }
        else if (e.key === 'n' || e.key === 'N') next(e.key === 'n' ? 1 : -1);
        else if ((e.key === 'f' || e.key === 'Enter') && picked) zoomTo(picked);
        else if (e.key === 'Escape' || e.key === '0') { pick(null); fit.click(); }
        else return false;
        return true;
      },
    };
  }

  // ---- trees ----
  function family(tree) {
    const n = tree.parent.length, children = Array.from({ length: n }, () => []), roots = [];
    for (let i = 0; i < n; i++) (tree.parent[i] < 0 ? roots : children[tree.parent[i]]).push(i);
    const larger = (a, b) => tree.total[b] - tree.total[a] || a - b;
    roots.sort(larger);
    children.forEach(c => c.sort(larger));
    return { roots, children, whole: roots.reduce((sum, i) => sum + tree.total[i], 0) };
  }
  function treeView() {
    const { tree } = all(), { roots, children, whole } = family(tree), open = new Set();
    const body = make('tbody'), heads = ['total', 'total%', 'self', 'calls', 'errors', 'method'];
    const node = make('div', {}, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map(h => make('th', { textContent: h })))), body));
    let lines = [], at = 0, takes = null;
    const visible = i => !takes || takes[i];
    function list() {
      lines = [];
      const walk = (nodes, depth) => {
        for (const i of nodes) {
          if (!visible(i)) continue;
          lines.push([i, depth]);
          if (lines.length > 20000) return;
          if (open.has(i) || (takes && takes[i] === 1)) walk(children[i], depth + 1);
        }
      };
      walk(roots, 0);
    }
    function fill() {
      takes = null;
      if (matches) {
        takes = new Uint8Array(tree.parent.length);   // 2: fits, 1: something below fits
        for (let i = takes.length - 1; i >= 0; i--) {
          if (matches[tree.name[i]]) takes[i] = 2;
          if (takes[i] && tree.parent[i] >= 0 && !takes[tree.parent[i]]) takes[tree.parent[i]] = 1;
        }
        for (let i = 0; i < takes.length; i++) if (!takes[i] && tree.parent[i] >= 0 && takes[tree.parent[i]] >= 2) takes[i] = 3;
      }
      list();
      at = Math.min(at, Math.max(0, lines.length - 1));
      body.replaceChildren(...lines.slice(0, 3000).map(([i, depth], place) => {
        const name = make('td'), label = meta.names[tree.name[i]];
        name.style.paddingLeft = 9 + depth * 16 + 'px';
        const isOpen = open.has(i) || (takes && takes[i] === 1);
        const twist = make('span', { className: 'twist', textContent: children[i].length ? isOpen ? '▾' : '▸' : '' });
        name.append(twist, matches && matches[tree.name[i]] ? make('mark', { textContent: label }) : label);
        const share = make('td', { className: 'share', textContent: percent(tree.total[i], whole) });
        share.style.setProperty('--p', percent(tree.total[i], whole));
        const cell = (words, className = '') => make('td', { textContent: about(words, isEstimate(tree, i)), className });
        const line = make('tr', {}, cell(time(tree.total[i])), share, cell(time(tree.self[i])),
          cell(count(tree.calls[i])), tree.errors[i] ? cell(count(tree.errors[i]), 'bad') : make('td', { textContent: '0', className: 'dim' }), name);
        line.onclick = () => { at = place; toggle(i); };
        if (place === at) line.setAttribute('aria-selected', 'true');
        return line;
      }));
      const shown = tree.left_out ? `${count(tree.left_out)} small paths left out` : '';
      $('found').textContent = matches ? counted(lines.filter(([i]) => takes[i] === 2).length, 'path') : shown;
    }
    const toggle = i => { if (!open.delete(i)) open.add(i); state.open = [...open].join('.'); save(); fill(); };
    return {
      title: 'Call tree', node, draw: fill,
      show() {
        open.clear();
        for (const i of (state.open || '').split('.')) if (i !== '' && children[+i]) open.add(+i);
        if (state.open === undefined) for (let i = roots[0]; i !== undefined && open.size < 8; i = children[i][0]) open.add(i);
        fill();
      },
      key(e) {
        const line = lines[at];
        if (!line) return false;
        if (e.key === 'ArrowDown') at = Math.min(at + 1, lines.length - 1);
        else if (e.key === 'ArrowUp') at = Math.max(at - 1, 0);
        else if (e.key === 'ArrowRight') open.add(line[0]);
        else if (e.key === 'ArrowLeft') { if (!open.delete(line[0])) at = Math.max(0, lines.findIndex(([i]) => i === tree.parent[line[0]])); }
        else if (e.key === 'Enter') { toggle(line[0]); return true; }
        else return false;
        state.open = [...open].join('.');
        save();
        fill();
        body.children[at]?.scrollIntoView({ block: 'nearest' });
        return true;
      },
    };
  }
  // A flame graph or an icicle of a tree; `look` gives the colour of a node, `say` its numbers.
  function flame(parent, tree, look, say, key) {
    const { roots, children, whole } = family(tree), n = tree.parent.length;
    const x = new Float64Array(n), wide = new Float64Array(n), depth = new Uint32Array(n);
    let levels = 1;
    (function place(nodes, from, level) {
      const stack = [[nodes, from, level, whole]];
      while (stack.length) {
        let [list, left, d, end] = stack.pop();
        for (const i of list) {
          x[i] = left;
          // Estimates may come to more than their caller: they are cut off.
          wide[i] = Math.max(0, Math.min(tree.total[i], end - left));
          depth[i] = d;
          levels = Math.max(levels, d + 1);
          if (children[i].length) stack.push([children[i], left, d + 1, left + wide[i]]);
          left += wide[i];
        }
      }
    })(roots, 0, 0);
    let focus = -1, picked = -1, y = 0, boxes = [];
    const draw = make('div', { className: 'draw' });
    parent.append(draw);
    const box = canvas(draw, (pen, w, h) => {
      boxes = [];
      const [from, span] = focus < 0 ? [0, whole] : [x[focus], wide[focus]], scale = w / Math.max(span, 1);
      const up = state.style === 'flame';
      y = Math.max(0, Math.min(y, levels * ROW - h + 8));
      const stack = [...roots].reverse();
      while (stack.length) {
        const i = stack.pop(), left = Math.max((x[i] - from) * scale, 0), right = Math.min((x[i] + wide[i] - from) * scale, w);
        if (right - left < .4 || right <= 0 || left >= w) continue;
        const top = up ? h - (depth[i] + 1) * ROW + y : depth[i] * ROW - y;
        for (let c = children[i].length - 1; c >= 0; c--) stack.push(children[i][c]);
        if (top > h || top + ROW < 0) continue;
        const fits = matches && matches[tree.name[i]];
        pen.globalAlpha = (matches && !fits ? .3 : 1) * (focus >= 0 && depth[i] < depth[focus] ? .5 : 1);
        pen.fillStyle = fits ? '#d05ce3' : look(i);
        pen.fillRect(left, top, Math.max(right - left - .6, .6), ROW - 1);
        if (i === picked) { pen.strokeStyle = colours.text; pen.lineWidth = 2; pen.strokeRect(left + 1, top + 1, right - left - 2, ROW - 3); }
        if (right - left > 24) { pen.fillStyle = '#111'; text(pen, shortName(meta.names[tree.name[i]]), left + 4, top + ROW / 2, right - left - 6); }
        boxes.push([left, right, top, i]);
      }
      pen.globalAlpha = 1;
      draw.dataset.drawn = boxes.length;
    });
    const at = e => {
      const place = box.node.getBoundingClientRect(), px = e.clientX - place.left, py = e.clientY - place.top;
      const found = boxes.find(([l, r, t]) => px >= l && px < r && py >= t && py < t + ROW);
      return found ? found[3] : -1;
    };
    const zoom = i => { focus = i; if (i < 0) delete state[key]; else state[key] = i; save(); box.draw(); };
    box.node.onpointermove = e => { const i = at(e); hint(e, i < 0 ? '' : meta.names[tree.name[i]] + '\n' + say(i, whole)); };
    box.node.onpointerleave = e => hint(e, '');
    box.node.onclick = e => { const i = at(e); picked = i; zoom(i); };
    box.node.addEventListener('wheel', e => { e.preventDefault(); y += state.style === 'flame' ? -e.deltaY : e.deltaY; box.draw(); }, { passive: false });
    return {
      box,
      show() { const i = state[key]; focus = i !== undefined && +i < n ? +i : -1; picked = focus; box.draw(); },
      // Boxes that fit may lie in one another: each stretch counts once.
      found() {
        if (!matches) return '';
        let sum = 0, until = -1;
        const hits = [...x.keys()].filter(i => matches[tree.name[i]]).sort((a, b) => x[a] - x[b] || depth[a] - depth[b]);
        for (const i of hits) { const right = x[i] + wide[i]; if (right > until) { sum += right - Math.max(x[i], until); until = right; } }
        return percent(sum, whole);
      },
      key(e) {
        const flip = state.style === 'flame', down = flip ? 'ArrowUp' : 'ArrowDown', up = flip ? 'ArrowDown' : 'ArrowUp';
        const row = picked < 0 ? roots : tree.parent[picked] < 0 ? roots : children[tree.parent[picked]], place = row.indexOf(picked);
        if (e.key === 'Escape' || e.key === '0') { picked = -1; zoom(-1); }
        else if (e.key === down) picked = picked < 0 ? roots[0] : children[picked][0] ?? picked;
        else if (e.key === up) picked = picked < 0 || tree.parent[picked] < 0 ? picked : tree.parent[picked];
        else if (e.key === 'ArrowRight') picked = row[Math.min(place + 1, row.length - 1)] ?? -1;
        else if (e.key === 'ArrowLeft') picked = row[Math.max(place - 1, 0)] ?? -1;
        else if (e.key === 'Enter' || e.key === 'f') zoom(picked);
        else return false;
        box.draw();
        return true;
      },
    };
  }
  function styleButton(redraw) {
    const button = make('button', { className: 'style' });
    const name = () => { button.textContent = state.style === 'flame' ? 'flame graph' : 'icicle'; button.title = 'i'; };
    button.onclick = () => { state.style = state.style === 'flame' ? 'icicle' : 'flame'; save(); name(); redraw(); };
    return { button, name };
  }
  function flameView() {
    const { tree } = all(), detail = make('div', { className: 'detail', textContent: 'Width is time. Click a box to zoom, Esc shows all.' });
    const style = styleButton(() => graph.box.draw());
    const node = make('div', { className: 'stage' }, make('div', { className: 'tools' }, style.button));
    const say = (i, whole) => {
      const is = isEstimate(tree, i), errors = tree.errors[i] ? `, ${about(count(tree.errors[i]), is)} left by an exception` : '';
      const from = is ? ` (from ${count(tree.estimated_from[i])} recorded)` : '';
      return `total ${about(time(tree.total[i]), is)} (${percent(tree.total[i], whole)}), self ${about(time(tree.self[i]), is)}, ${about(counted(tree.calls[i], 'call'), is)}${from}${errors}`;
    };
    const graph = flame(node, tree, i => colour(tree.name[i]), say, 'node');
    node.append(detail);
    return {
      title: 'Flame graph', node, box: graph.box,
      draw() { style.name(); $('found').textContent = graph.found(); graph.box.draw(); },
      show: graph.show,
      key(e) { if (e.key === 'i') style.button.click(); else return graph.key(e); return true; },
    };
  }

  // ---- exceptions ----
  function exceptionsView() {
    const node = make('div');
    const fill = () => {
      const term = state.q.toLowerCase();
      const kept = meta.exceptions.filter(e => !term || JSON.stringify(e).toLowerCase().includes(term));
      node.replaceChildren(...kept.slice(0, 1000).map(e => {
        const list = make('ul');
        for (const path of e.paths) {
          const thrower = link(path.thrown_in, () => { state.q = path.thrown_in; state.view = 'timeline'; apply(); });
          list.append(make('li', {}, `${count(path.count)} × thrown in `, thrower, path.left === path.thrown_in ? '' : `, up to ${path.left}`, path.caught_in ? `, caught in or below ${path.caught_in}` : ', caught by no woven method'));
        }
        if (e.messages.length > 1) {
          for (const m of e.messages.slice(0, 10)) list.append(make('li', {}, `${count(m.count)} × ${m.message || '(no message)'}`));
          const further = e.messages.slice(10).reduce((sum, m) => sum + m.count, 0);
          if (further) list.append(make('li', {}, `${count(further)} × other messages`));
        }
        return make('div', { className: 'exception' }, make('h3', {}, make('span', { className: 'bad', textContent: count(e.count) + ' × ' }), e.type + (e.messages.length === 1 && e.message ? ': ' + e.message : '')), list);
      }));
      if (kept.length) node.prepend(make('p', { className: 'word', textContent: `${count(kept.reduce((sum, e) => sum + e.count, 0))} throws, by type and place` }));
      if (!kept.length) node.append(make('p', { className: 'word', textContent: meta.exceptions.length ? 'No exception fits.' : meta.aggregated_errors ? 'No exception was recorded.' : 'No exceptions left a woven method.' }));
      if (meta.aggregated_errors) node.append(make('p', { className: 'word', textContent: `${count(meta.aggregated_errors)} summed-up calls ended by an exception; sums do not keep which one.` }));
      if (meta.unlisted_exceptions) node.append(make('p', { className: 'word', textContent: `${count(meta.unlisted_exceptions)} throws of other exceptions are not listed` }));
      $('found').textContent = term ? `${count(kept.length)} of ${count(meta.exceptions.length)}` : '';
    };
    return { title: 'Exceptions', node, draw: fill };
  }

  // ---- requests ----
  function requestsView() {
    const rows = meta.requests.map(r => ({ ...r, label: r.name }));
    // What they wait for: the share of their time, and how often each does; what runs at one time counts each.
    const below = r => r.below.slice().sort((a, b) => b.total_ns - a.total_ns)
      .map(b => `${b.what} ${percent(b.total_ns, r.total_ns)}, ${fixed(b.calls / r.requests, 1)} each`).join('; ');
    const most = Math.max(1, ...rows.map(r => r.total_ns));
    const columns = [
      ['rtotal', 'total', r => r.total_ns, r => time(r.total_ns), r => r.total_ns * 100 / most],
      ['rcount', 'requests', r => r.requests, r => count(r.requests)],
      ['rerrors', 'errors', r => r.errors, r => make('span', { className: r.errors ? 'bad' : 'dim', textContent: count(r.errors) })],
      ['rp50', 'p50', r => r.p50_ns, r => time(r.p50_ns)],
      ['rp99', 'p99', r => r.p99_ns, r => time(r.p99_ns)],
      ['rmax', 'max', r => r.max_ns, r => time(r.max_ns)],
      ['label', 'request', r => r.label, r => make('span', {}, r.label,
        make('span', { className: 'dim', textContent: below(r) ? '  ' + below(r) : '' }),
        make('span', { className: 'bad', textContent: r.repeated ? `  the same ${count(r.repeated.times)} times in one: ${r.repeated.text.slice(0, 200)}` : '' }),
        make('span', { className: 'dim', textContent: r.slowest ? `  slowest ${r.slowest}` : '' }))],
    ];
    const grid = table(rows, columns, 'rsort');
    return { title: 'Requests', node: grid.node, draw: grid.fill, key: grid.keys };
  }

  // ---- comparison ----
  function compareView() {
    const of = meta.comparison, tree = meta.diff_tree, test = of.test;
    const verdict = !test.methods ? 'No test of significance: it takes several runs a side.'
      : test.enough_runs ? `${count(of.methods.filter(m => m.differs).length)} of ${counted(of.methods.length, 'method')} differ at level ${test.level} (${test.name}).`
        : `Too few runs to tell change from noise: ${test.runs_needed} a side can.`;
    const pair = (b, a, show) => { const [x, z] = [b, a].map(v => v == null ? '-' : show(v)); return x === z ? z : `${x} → ${z}`; };
    // A number of both sides; those that are estimates are marked.
    const both = (m, field, show) => {
      const [x, z] = [m.before, m.after].map(side => side?.[field] == null ? '-' : about(show(side[field]), side.estimated_from));
      return x === z ? z : `${x} → ${z}`;
    };
    const change = m => !m.before ? 'new' : !m.after ? 'gone' : m.self_change_ns == null ? 'counted' : m.self_change_percent == null ? '' : (m.self_change_percent > 0 ? '+' : '') + fixed(m.self_change_percent, 1) + '%';
    const tone = m => m.self_change_ns == null || Math.abs(m.self_change_percent ?? 100) < 1 && m.before && m.after ? 'dim' : m.self_change_ns > 0 ? 'bad' : 'good';
    const columns = [
      ['change', 'change', m => Math.abs(m.self_change_ns), m => make('span', { className: tone(m), textContent: (m.self_change_ns > 0 ? '+' : '') + time(m.self_change_ns) })],
      ['change%', 'change%', m => Math.abs(m.self_change_percent ?? 1e9), m => make('span', { className: tone(m), textContent: change(m) })],
      ...(test.methods ? [['p', 'p', m => m.p == null ? -1 : 1 - m.p, m => m.p == null ? '-' : (m.p < 1e-4 ? '<0.0001' : fixed(m.p, 4)) + (m.differs ? ' *' : '')]] : []),
      ['self', 'self', m => m.after?.self_ns, m => both(m, 'self_ns', time)],
      ['total', 'total', m => m.after?.total_ns, m => both(m, 'total_ns', time)],
      ['calls', 'calls', m => m.after?.calls, m => both(m, 'calls', count)],
      ['p50', 'p50', m => m.after?.p50_ns, m => both(m, 'p50_ns', time)],
      ['p99', 'p99', m => m.after?.p99_ns, m => both(m, 'p99_ns', time)],
      ['label', 'method', m => m.label, m => m.label],
    ];
    const grid = table(of.methods, columns, 'dsort');
    const look = i => {
      const before = tree.self_before[i], after = tree.self_after[i], part = (after - before) / Math.max(before, after, 1);
      return `hsl(${part > 0 ? 4 : 214},${part ? 85 : 0}%,${93 - 36 * Math.abs(part)}%)`;
    };
    const say = i => `total ${pair(tree.total_before[i], tree.total_after[i], time)}, self ${pair(tree.self_before[i], tree.self_after[i], time)}, ${pair(tree.calls_before[i], tree.calls_after[i], count)} calls`;
    const style = styleButton(() => graph.box.draw());
    const half = make('div', { className: 'half' }), stage = make('div', { className: 'stage' }, make('div', { className: 'tools' }, style.button, make('span', { className: 'dim', textContent: 'Red: more self time after, blue: less. Width is time, of the side that has more.' })));
    half.append(stage);
    const graph = flame(stage, tree, look, say, 'dnode');
    const head = make('div', { className: 'facts' }, make('p', {}, make('b', { textContent: `Self time of all methods: ${both(of.all, 'self_ns', time)} (${change(of.all)})` })),
      make('p', { className: 'dim', textContent: `${counted(of.before.runs, 'run')} before, ${of.after.runs} after. ${verdict}` }));
    const node = make('div', {}, head, half, grid.node);
    half.style.height = '42vh';
    return {
      title: 'Comparison', node, box: graph.box,
      draw() { style.name(); grid.fill(); graph.box.draw(); },
      show: graph.show,
      key(e) { if (e.key === 'i') style.button.click(); else return graph.key(e); return true; },
    };
  }

  // ---- all of it ----
  function apply() {
    search();
    showRange();
    $('search').value = state.q;
    const next = views[state.view];
    $('found').textContent = '';
    hint({}, '');
    if (view !== next) { $('main').replaceChildren(next.node); view = next; }
    for (const tab of $('tabs').children) tab.setAttribute('aria-selected', String(tab.dataset.view === state.view));
    if (view.show) view.show();
    view.draw();
    save();
  }
  function go(name) {
    if (!views[name]) return;
    state.view = name;
    apply();
    $('main').focus();
  }
  document.addEventListener('keydown', e => {
    if (!view) return;
    const typing = e.target instanceof HTMLInputElement;
    if (typing) { if (e.key === 'Escape') { e.target.value = ''; e.target.dispatchEvent(new Event('input')); } if (e.key === 'Escape' || e.key === 'Enter') { e.target.blur(); $('main').focus(); } return; }
    if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
    if (view.key && view.key(e)) { e.preventDefault(); return; }
    const names = Object.keys(views);
    if (e.key === '/') { $('search').focus(); $('search').select(); }
    else if (e.key === '?') $('help').showModal();
    else if (e.key === 't') $('theme').click();
    else if (e.key === 'R') $('range').click();
    else if (names[+e.key - 1]) go(names[+e.key - 1]);
    else return;
    e.preventDefault();
  });
  $('search').oninput = e => { state.q = e.target.value; search(); save(); view.draw(); };
  $('range').onclick = () => { setRange(0, 0); apply(); };
  $('keys').onclick = () => $('help').showModal();
  $('theme').onclick = () => theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  window.addEventListener('hashchange', () => { if (!quiet) { load(); apply(); } });
  (async () => {
    const begun = performance.now();
    meta = JSON.parse(new TextDecoder().decode(await inflate('meta')));
    data = decode(await inflate('calls'), meta);
    theme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
    $('title').textContent = $('title').title = meta.title;
    views = { methods: methodsView(), timeline: timelineView(), tree: treeView(), flame: flameView(), exceptions: exceptionsView() };
    if (meta.requests) views.requests = requestsView();
    if (meta.comparison) views.compare = compareView();
    for (const [name, { title }] of Object.entries(views)) {
      const tab = make('button', { textContent: title, onclick: () => go(name) });
      tab.dataset.view = name;
      tab.setAttribute('role', 'tab');
      $('tabs').append(tab);
    }
    load();
    ready = true;
    apply();
    document.documentElement.dataset.ready = Math.round(performance.now() - begun);
  })().catch(e => { $('main').textContent = 'This page cannot be shown: ' + e + '. It takes a browser of 2023 or newer.'; throw e; });
})();
