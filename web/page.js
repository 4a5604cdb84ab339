// The interactive pictures of a page by batchlab report. It reads the page's block of data, and lays a plot over each static
// picture; what it cannot draw stays as it was. Texts are only ever written as text.
'use strict';
(() => {
performance.mark('batchlab-begin');
const DATA = JSON.parse(document.getElementById('data').textContent);
const COLORS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7'], DASHES = [[], [7, 3], [2, 3]];
const FONT = '12px system-ui, sans-serif', NEAR = 30;
const root = document.documentElement, plots = [];

// What the reader chose outlives a live page's reload, where the browser keeps it.
const kept = {
  get(key) { try { return sessionStorage.getItem('batchlab ' + key); } catch (e) { return null; } },
  set(key, value) { try { sessionStorage.setItem('batchlab ' + key, value); } catch (e) { /* then it does not */ } },
};

const element = (tag, className, text) => {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
};
const button = (text, title, onclick) => {
  const b = element('button', '', text);
  b.type = 'button';
  b.title = title;
  b.addEventListener('click', onclick);
  return b;
};
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// ---- numbers and ticks ----

const digits = (x, n = 4) => Math.abs(x) >= 10 ** (n - 1) ? x.toFixed(0) : Number(x.toPrecision(n)).toString();

function niceTicks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough)), share = rough / power;
  const step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10), out = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && out.length < 100; i++)
    out.push(Number((i * step).toPrecision(12)));
  return out;
}

function powersOfTwo(low, high) {
  const out = [];
  for (let p = 2 ** Math.ceil(Math.log2(Math.max(low, 1)) - 1e-9); p <= high; p *= 2) out.push(p);
  return out;
}

function logTicks(low, high, wanted) {
  const out = [];
  for (let d = Math.floor(Math.log10(low)); d <= Math.log10(high); d++)
    for (const m of [1, 2, 5]) if (m * 10 ** d >= low && m * 10 ** d <= high) out.push(Number((m * 10 ** d).toPrecision(3)));
  const decades = out.filter(t => Number.isInteger(Math.log10(t)));
  return out.length < 3 ? niceTicks(low, high, wanted) : out.length > 2 * wanted && decades.length > 1 ? decades : out;
}

// ---- one plot ----

class Plot {
  constructor(figure, chart) {
    this.chart = chart;
    this.box = element('div', 'live');
    this.hidden = new Set();
    this.tools = element('div', 'tools');
    this.hint = element('span', 'unit', chart.rows ? '' : chart.y);
    this.area = element('div', 'area');
    this.area.tabIndex = 0;
    this.area.setAttribute('role', 'application');
    this.tip = element('div', 'tip');
    this.tip.setAttribute('role', 'status');
    this.tip.hidden = true;
    this.box.append(this.tools, this.hint, this.area);
    this.makeTools();
    this.show(chart);
    this.listen();
    figure.insertBefore(this.box, figure.querySelector('figcaption'));
    this.make();
    figure.classList.add('on');
    figure.plot = this;
    this.width = 0;
    new ResizeObserver(() => this.fit()).observe(this.box);
    plots.push(this);
  }

  // Another chart in the same place.
  show(chart) {
    this.chart = chart;
    this.focus = -1;
    this.area.setAttribute('aria-label', chart.title + '. Arrow keys go from point to point, plus and minus zoom, ' +
                           'zero shows all.');
    this.range();
    this.makeLegend();
    if (this.u) this.make();
  }

  makeTools() {
    this.log = {};
    this.buttons = {};
    const wide = this.extent('x', this.chart), name = axis => `${this.chart.id} ${axis}`;
    for (const axis of ['x', 'y']) {
      const span = this.extent(axis, this.chart), possible = span[0] > 0 && !this.chart.rows && this.chart.id !== 'timeline';
      const before = kept.get(name(axis));
      this.log[axis] = possible && (before ? before === 'log' : axis === 'x' && this.chart.batch && wide[1] > 4 * wide[0]);
      if (!possible) continue;
      const b = button('log ' + axis, `${axis} axis: logarithmic or linear`, () => {
        this.log[axis] = !this.log[axis];
        kept.set(name(axis), this.log[axis] ? 'log' : 'linear');
        b.setAttribute('aria-pressed', this.log[axis]);
        this.range();
        this.make();
      });
      b.setAttribute('aria-pressed', this.log[axis]);
      b.dataset.axis = axis;
      this.tools.append(b);
      this.buttons[axis] = b;
    }
    this.tools.append(button('show all', 'End zooming (double click, or the key 0)', () => this.all()));
    this.legend = element('span', 'legend');
    this.tools.append(this.legend);
  }

  makeLegend() {
    this.legend.replaceChildren();
    const named = this.chart.series.map((s, i) => [s, i]).filter(([s]) => s.name);
    for (const [s, i] of named) {
      const b = button('', 'Show or hide', () => {
        const hide = !this.hidden.has(i);
        this.chart.series.forEach((other, k) => {
          if (k === i || (!other.name && other.color === s.color)) hide ? this.hidden.add(k) : this.hidden.delete(k);
        });
        b.setAttribute('aria-pressed', !hide);
        this.range();
        this.make();
      });
      const mark = element('i');
      mark.style.background = COLORS[s.color % COLORS.length];
      b.append(mark, s.name);
      b.setAttribute('aria-pressed', !this.hidden.has(i));
      this.legend.append(b);
    }
    if (this.chart.special && this.chart.series.some(s => s.special && s.special.length))
      this.legend.append(element('span', 'unit', '\u25C6 ' + this.chart.special));
  }

  visible() { return this.chart.series.filter((s, i) => !this.hidden.has(i)); }

  // Least and greatest of an axis over what is shown; of the wanted chart where none is.
  extent(axis, chart) {
    const series = chart ? chart.series : this.visible(), c = chart || this.chart;
    let low = Infinity, high = -Infinity;
    const take = v => { if (v !== null && v !== undefined && isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); } };
    for (const s of series) {
      s[axis].forEach(take);
      if ((axis === 'x') === !!c.rows && s.low) { s.low.forEach(take); s.high.forEach(take); }
    }
    if (c.band && (axis === 'x') === !!c.rows) { take(c.band); take(-c.band); }
    if (c.limit && axis === 'y' && c.limit < 3 * high) take(c.limit);
    return [low, high];
  }

  range() {
    for (const axis of ['x', 'y']) {
      let [low, high] = this.extent(axis);
      if (low > high) [low, high] = [1, 2];
      if (this.log[axis] && !(low > 0)) { // another trial's values
        this.log[axis] = false;
        this.buttons[axis].setAttribute('aria-pressed', 'false');
      }
      if (this.log[axis]) {
        const room = Math.max((high / low) ** 0.05, 1.01);
        low /= room; high *= room;
      } else {
        const zero = axis === 'y' && this.chart.zero;
        const room = 0.05 * (high - (zero ? 0 : low)) || Math.abs(0.05 * high) || 1;
        high += room;
        low = zero ? 0 : low - room;
      }
      if (axis === 'y' && this.chart.rows) [low, high] = [-0.5, this.chart.rows.length - 0.5];
      this[axis] = [low, high];
    }
  }

  all() {
    this.range();
    this.u.batch(() => {
      this.u.setScale('x', {min: this.x[0], max: this.x[1]});
      this.u.setScale('y', {min: this.y[0], max: this.y[1]});
    });
  }

  height() { return this.chart.rows ? 70 + 26 * this.chart.rows.length : innerWidth < 600 ? 280 : 360; }

  options() {
    const c = this.chart, width = Math.max(this.box.clientWidth, 240);
    const rowText = r => r.length > (width < 500 ? 20 : 44) ? r.slice(0, width < 500 ? 19 : 43) + '\u2026' : r;
    const ticks = axis => (u, i, low, high) => {
      const wanted = axis === 'x' ? clamp(width / 90, 3, 9) : 6;
      if (axis === 'y' && c.rows) return c.rows.map((r, k) => k);
      if (axis === 'x' && c.batch) {
        const powers = powersOfTwo(low, high), every = Math.ceil(powers.length / (width / 45));
        if (powers.length > 1) return powers.filter((p, k) => k % every === 0);
      }
      return this.log[axis] ? logTicks(low, high, wanted) : niceTicks(low, high, wanted);
    };
    const style = axis => ({
      scale: axis, font: FONT, stroke: () => css('--faint'), grid: {stroke: () => css('--line'), width: 1},
      ticks: {stroke: () => css('--line'), width: 1, size: 5}, filter: (u, splits) => splits, splits: ticks(axis),
    });
    const scale = (axis, base) => ({
      time: false, auto: false, min: this[axis][0], max: this[axis][1],
      // uPlot asks after each change, of the other axis too: nothing is to move by itself.
      range: (u, low, high) => axis === 'x' && low !== null ? [low, high] : u.scales[axis].min === null ||
        u.scales[axis].min === undefined ? this[axis].slice() : [u.scales[axis].min, u.scales[axis].max],
      distr: this.log[axis] ? 3 : 1, log: base,
    });
    const y = style('y');
    y.values = (u, v) => v.map(t => c.rows ? rowText(c.rows[t] || '') : digits(t, 6));
    y.size = (u, v) => v ? clamp(14 + 7 * Math.max(...v.map(t => t.length)), 40, width * 0.45) : 50;
    return {
      width, height: this.height(), legend: {show: false}, pxAlign: 1, padding: [10, 14, 0, 0],
      scales: {x: scale('x', c.batch ? 2 : 10), y: {...scale('y', 10), dir: c.rows ? -1 : 1}},
      axes: [{...style('x'), label: c.x, labelFont: FONT, labelSize: 20, size: 30, values: (u, v) => v.map(t => digits(t, 6))}, y],
      series: [{}, {scale: 'y', points: {show: false}}],
      cursor: {points: {show: false}, y: false, drag: {x: true, y: !c.rows, uni: 24, dist: 6},
               bind: {dblclick: () => () => { this.all(); return null; }}},
      hooks: {drawClear: [() => this.drawBelow()], draw: [() => this.draw()]},
    };
  }

  make() {
    if (this.u) this.u.destroy();
    this.focus = -1;
    const o = this.options();
    this.width = o.width;
    this.u = new uPlot(o, [this.x, [null, null]], this.area);
    this.u.over.append(this.tip);
    this.tip.hidden = true;
    this.points = null;
    const over = this.u.over, look = e => {
      const r = over.getBoundingClientRect();
      this.point(this.nearest(e.clientX - r.left, e.clientY - r.top));
    };
    over.addEventListener('pointermove', look);
    over.addEventListener('pointerdown', look); // a finger has no hovering
    over.addEventListener('pointerleave', e => { if (e.pointerType === 'mouse') this.point(-1); });
  }

  fit() {
    const width = Math.max(this.box.clientWidth, 240);
    if (width === this.width || !this.box.clientWidth) return;
    this.make(); // the texts beside the axis depend on it too
  }

  // ---- drawing: positions in pixels of the canvas ----

  at(axis, value) { return this.u.valToPos(value, axis, true); }

  drawBelow() {
    const {u, chart: c} = this, ctx = u.ctx, b = u.bbox, r = uPlot.pxRatio;
    const clear = (x, y, w, h) => { ctx.fillStyle = css('--band'); ctx.fillRect(x, y, w, h); };
    ctx.save();
    ctx.beginPath();
    ctx.rect(b.left, b.top, b.width, b.height);
    ctx.clip();
    if (c.band && c.rows) clear(this.at('x', -c.band), b.top, this.at('x', c.band) - this.at('x', -c.band), b.height);
    else if (c.band) clear(b.left, this.at('y', c.band), b.width, this.at('y', -c.band) - this.at('y', c.band));
    if (c.shade) clear(this.at('x', c.shade[0]), b.top, this.at('x', c.shade[1]) - this.at('x', c.shade[0]), b.height);
    ctx.strokeStyle = css('--faint');
    ctx.lineWidth = r;
    const line = (x1, y1, x2, y2) => { ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); };
    if (c.band && c.rows) line(this.at('x', 0), b.top, this.at('x', 0), b.top + b.height);
    else if (c.band) line(b.left, this.at('y', 0), b.left + b.width, this.at('y', 0));
    if (c.limit) {
      ctx.setLineDash([8 * r, 4 * r]);
      line(b.left, this.at('y', c.limit), b.left + b.width, this.at('y', c.limit));
      ctx.fillStyle = css('--faint');
      ctx.font = `${12 * r}px system-ui, sans-serif`;
      ctx.fillText(c.limitLabel, b.left + 6 * r, this.at('y', c.limit) - 5 * r);
    }
    ctx.restore();
  }

  mark(ctx, x, y, size, special) {
    ctx.beginPath();
    if (special) { ctx.moveTo(x, y - 1.5 * size); ctx.lineTo(x + 1.5 * size, y); ctx.lineTo(x, y + 1.5 * size); ctx.lineTo(x - 1.5 * size, y); ctx.closePath(); }
    else ctx.arc(x, y, size, 0, 7);
  }

  draw() {
    const {u, chart: c} = this, ctx = u.ctx, b = u.bbox, r = uPlot.pxRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(b.left, b.top, b.width, b.height);
    ctx.clip();
    for (const s of this.visible()) {
      const color = COLORS[s.color % COLORS.length], special = new Set(s.special || []), size = (s.x.length > 200 ? 2.2 : 4) * r;
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = 1.6 * r;
      ctx.setLineDash(DASHES[Math.floor(s.color / COLORS.length) % DASHES.length].map(d => d * r));
      if (s.line) {
        ctx.beginPath();
        let down = false;
        s.x.forEach((x, i) => {
          if (s.y[i] === null) { down = false; return; }
          down ? ctx.lineTo(this.at('x', x), this.at('y', s.y[i])) : ctx.moveTo(this.at('x', x), this.at('y', s.y[i]));
          down = true;
        });
        ctx.stroke();
        continue;
      }
      s.x.forEach((x, i) => {
        const px = this.at('x', x), py = this.at('y', s.y[i]);
        if (s.low && s.low[i] !== null) {
          ctx.beginPath();
          if (c.rows) {
            const from = this.at('x', s.low[i]), to = this.at('x', s.high[i]);
            for (const e of [from, to]) { ctx.moveTo(e, py - 4 * r); ctx.lineTo(e, py + 4 * r); }
            ctx.moveTo(from, py); ctx.lineTo(to, py);
          } else {
            const from = this.at('y', s.low[i]), to = this.at('y', s.high[i]);
            for (const e of [from, to]) { ctx.moveTo(px - 4 * r, e); ctx.lineTo(px + 4 * r, e); }
            ctx.moveTo(px, from); ctx.lineTo(px, to);
          }
          ctx.stroke();
        }
        this.mark(ctx, px, py, size, special.has(i));
        ctx.fill();
      });
    }
    const p = this.all_points()[this.focus];
    if (p) {
      ctx.setLineDash([]);
      ctx.strokeStyle = css('--text');
      ctx.lineWidth = 2 * r;
      this.mark(ctx, this.at('x', p.x), this.at('y', p.y), 7 * r, false);
      ctx.stroke();
    }
    ctx.restore();
  }

  // ---- pointing: by the pointer, or by keys ----

  // From left to right.
  all_points() {
    if (!this.points) {
      this.points = [];
      for (const s of this.visible())
        if (s.notes) s.x.forEach((x, i) => { if (s.y[i] !== null) this.points.push({x, y: s.y[i], s, i}); });
      this.points.sort((a, b) => this.chart.rows ? a.y - b.y : a.x - b.x);
    }
    return this.points;
  }

  nearest(left, top) {
    let best = -1, least = NEAR * NEAR;
    this.all_points().forEach((p, k) => {
      const dx = this.u.valToPos(p.x, 'x') - left, dy = this.u.valToPos(p.y, 'y') - top, d = dx * dx + dy * dy;
      if (d < least) { least = d; best = k; }
    });
    return best;
  }

  point(k) {
    if (k === this.focus) return;
    this.focus = k;
    const p = this.all_points()[k];
    this.tip.hidden = !p;
    this.u.redraw(false, false);
    if (!p) return;
    const note = typeof p.s.notes === 'function' ? p.s.notes(p.i) : p.s.notes[p.i];
    this.tip.textContent = (p.s.name ? p.s.name + ': ' : '') + note;
    const width = this.u.over.clientWidth, x = this.u.valToPos(p.x, 'x'), y = this.u.valToPos(p.y, 'y');
    this.tip.style.maxWidth = Math.min(width - 8, 340) + 'px';
    this.tip.style.left = clamp(x - this.tip.offsetWidth / 2, 4, Math.max(4, width - this.tip.offsetWidth - 4)) + 'px';
    this.tip.style.top = (y > this.tip.offsetHeight + 14 ? y - this.tip.offsetHeight - 12 : y + 14) + 'px';
  }

  zoom(factor) {
    const p = this.all_points()[this.focus];
    this.u.batch(() => {
      for (const axis of this.chart.rows ? ['x'] : ['x', 'y']) {
        const {min, max} = this.u.scales[axis], log = this.log[axis];
        const to = v => log ? Math.log(v) : v, from = v => log ? Math.exp(v) : v;
        const low = to(min), high = to(max), centre = p ? to(p[axis]) : (low + high) / 2;
        this.u.setScale(axis, {min: from(centre - (centre - low) * factor), max: from(centre + (high - centre) * factor)});
      }
    });
  }

  listen() {
    const keys = {
      ArrowRight: () => this.point(clamp(this.focus + 1, 0, this.all_points().length - 1)),
      ArrowLeft: () => this.point(clamp(this.focus - 1, 0, this.all_points().length - 1)),
      Home: () => this.point(0), End: () => this.point(this.all_points().length - 1), Escape: () => this.point(-1),
      '+': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6), 0: () => this.all(),
    };
    this.area.addEventListener('keydown', e => {
      const key = this.chart.rows ? {ArrowDown: 'ArrowRight', ArrowUp: 'ArrowLeft'}[e.key] || e.key : e.key;
      if (!keys[key] || e.ctrlKey || e.altKey || e.metaKey) return;
      e.preventDefault();
      keys[key]();
    });
    this.area.addEventListener('focusout', () => this.point(-1));
  }
}

// ---- the steps of one trial ----

// Thinned values stand in pairs, the least and the greatest of each stretch of `every` steps.
function traceChart(t) {
  const x = t.ms.map((v, i) => t.every ? Math.floor(i / 2) * t.every + (i % 2 ? 0.75 : 0.25) * t.every + 1 : i + 1);
  const notes = i => t.every ? `steps ${Math.floor(i / 2) * t.every + 1} to ${Math.min((Math.floor(i / 2) + 1) * t.every, t.n)}: ` +
    `${i % 2 ? 'at most' : 'at least'} ${digits(t.ms[i])} ms` : `step ${i + 1}: ${digits(t.ms[i])} ms${i < t.cut ? ', not counted' : ''}`;
  const series = {name: '', color: 0, x, y: t.ms};
  return {id: 'steps', title: 'Steps of one trial', x: 'step', y: 'ms a step', zero: true, shade: t.cut ? [0, t.cut + 0.5] : null,
          series: t.every ? [{...series, line: true, notes}] : [{...series, line: true}, {...series, notes}]};
}

// A list of trials to choose from, by case, with the one before and the next; show(index) is called.
function chooser(list, show) {
  const select = element('select'), groups = new Map();
  select.setAttribute('aria-label', 'trial');
  list.forEach((t, i) => {
    const label = DATA.cases[t.case] || '?';
    if (!groups.has(label)) {
      groups.set(label, element('optgroup'));
      groups.get(label).label = label;
    }
    const option = element('option', '', `trial ${t.trial}, block ${t.block}, ${label}`);
    option.value = i;
    groups.get(label).append(option);
  });
  select.append(...groups.values());
  const turn = by => {
    select.selectedIndex = clamp(select.selectedIndex + by, 0, list.length - 1);
    show(Number(select.value));
  };
  select.addEventListener('change', () => turn(0));
  const box = element('span', 'chooser');
  box.append(button('\u2190', 'the trial before', () => turn(-1)), select, button('\u2192', 'the next trial', () => turn(1)));
  return {box, select};
}

function traces(figure) {
  const c = chooser(DATA.traces, i => plot.show(traceChart(DATA.traces[i])));
  const plot = new Plot(figure, traceChart(DATA.traces[c.select.value]));
  plot.tools.prepend(c.box);
}

// ---- what was looked at in the course of one trial: all panels show the same one ----

function panelChart(base, look) {
  const series = (look.panels[base.id] || []).map((p, i) => { // not every look gave a value
    const x = look.x.filter((_, k) => p.y[k] !== null), y = p.y.filter(v => v !== null);
    return {name: p.name, color: i, x, y, line: true, notes: k => `${digits(x[k], 3)} s: ${digits(y[k])} ${base.y}`};
  });
  return {...base, series, x: `seconds since the first look at trial ${look.trial}, ${DATA.cases[look.case]}`, shade: look.warm > 0 ? [0, look.warm] : null};
}

function looks(charts) {
  const list = DATA.looks, panels = [];
  const show = i => panels.forEach(p => {
    p.select.value = i;
    p.plot.show(panelChart(p.chart, list[i]));
  });
  for (const chart of charts) {
    const c = chooser(list, show);
    c.select.value = 0;
    const plot = new Plot(document.getElementById(chart.id), panelChart(chart, list[0]));
    plot.tools.prepend(c.box);
    panels.push({chart, plot, select: c.select});
  }
}

// ---- light and dark ----

function themes() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
  const redraw = () => { b.setAttribute('aria-pressed', dark()); plots.forEach(p => p.u.redraw(false, true)); };
  const b = button('dark', 'Dark or light', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    kept.set('theme', root.dataset.theme);
    redraw();
  });
  b.id = 'theme';
  if (kept.get('theme')) root.dataset.theme = kept.get('theme');
  document.body.prepend(b);
  system.addEventListener('change', redraw);
  redraw();
}

themes();
for (const chart of DATA.charts) {
  const figure = document.getElementById(chart.id);
  if (figure && chart.id !== 'steps' && !chart.id.startsWith('trial_')) new Plot(figure, chart);
}
if (DATA.looks.length) looks(DATA.charts.filter(c => c.id.startsWith('trial_') && document.getElementById(c.id)));
if (DATA.traces && DATA.traces.length && document.getElementById('steps')) traces(document.getElementById('steps'));
performance.mark('batchlab-end');
performance.measure('batchlab', 'batchlab-begin', 'batchlab-end');
})();
