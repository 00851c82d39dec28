// SPDX-License-Identifier: Apache-2.0
// The charts, drawn by Chart.js. Deployments differ by shape and dash, bars by hatching, never by colour alone; behind every
// chart stands its table. A point is {x, y, low, high}: what it was made from, with the interval that the whisker shows.

const PALETTES = {
  light: {ink: '#1a1f27', soft: '#566070', grid: '#e3e6eb', paper: '#ffffff', band: 'rgba(110,120,135,.16)',
    arms: ['#4a5361', '#0072b2', '#c95200', '#007a5a', '#a0508c', '#8a6d00']},
  dark: {ink: '#e8ecf2', soft: '#a3adbb', grid: '#2a323d', paper: '#12161c', band: 'rgba(170,180,195,.16)',
    arms: ['#b9c2ce', '#56b4e9', '#f08a3c', '#3fc79a', '#dd9ac9', '#e0c14c']},
};
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4]];
const dark = window.matchMedia('(prefers-color-scheme: dark)');
let palette = PALETTES.light;
const charts = []; // {id, canvas, make, chart}
const armColor = (arm) => palette.arms[arm % palette.arms.length];

// Draws intervals as whiskers behind the points, cut off at the edge of the chart.
const whiskers = {
  id: 'whiskers',
  beforeDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    ctx.clip();
    chart.data.datasets.forEach((set, index) => {
      if (!set.whiskers || !chart.isDatasetVisible(index)) return;
      ctx.strokeStyle = set.borderColor;
      ctx.lineWidth = 1.5;
      for (const point of set.data) {
        if (!(point.low > 0) || point.low === point.high) continue;
        const x = scales.x.getPixelForValue(point.x), low = scales.y.getPixelForValue(point.low), high = scales.y.getPixelForValue(point.high);
        ctx.beginPath();
        ctx.moveTo(x, low); ctx.lineTo(x, high);
        ctx.moveTo(x - 3, low); ctx.lineTo(x + 3, low);
        ctx.moveTo(x - 3, high); ctx.lineTo(x + 3, high);
        ctx.stroke();
      }
    });
    ctx.restore();
  },
};

// The baseline as a line at 100%, with the band that counts as the same.
const reference = {
  id: 'reference',
  beforeDatasetsDraw(chart, args, options) {
    if (!options.at) return;
    const {ctx, chartArea: area, scales} = chart;
    const pixel = (value) => Math.min(area.bottom, Math.max(area.top, scales.y.getPixelForValue(value)));
    ctx.save();
    ctx.fillStyle = palette.band;
    ctx.fillRect(area.left, pixel(options.at * 1.02), area.right - area.left, pixel(options.at * 0.98) - pixel(options.at * 1.02));
    ctx.strokeStyle = palette.soft;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(area.left, pixel(options.at)); ctx.lineTo(area.right, pixel(options.at));
    ctx.stroke();
    ctx.restore();
  },
};

// Hatching for bars: plain, stripes one way, stripes the other way, dots.
function hatch(kind, color) {
  if (kind % 4 === 0) return color;
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const ctx = tile.getContext('2d');
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.35;
  ctx.fillRect(0, 0, 8, 8);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color;
  ctx.lineWidth = 2;
  ctx.beginPath();
  if (kind % 4 === 1) { ctx.moveTo(-2, 6); ctx.lineTo(6, -2); ctx.moveTo(2, 10); ctx.lineTo(10, 2); }
  if (kind % 4 === 2) { ctx.moveTo(-2, 2); ctx.lineTo(6, 10); ctx.moveTo(2, -2); ctx.lineTo(10, 6); }
  ctx.stroke();
  if (kind % 4 === 3) { ctx.fillRect(1, 1, 3, 3); ctx.fillRect(5, 5, 3, 3); }
  return ctx.createPattern(tile, 'repeat');
}

// An axis whose places are 0, 1, 2... with the labels; a label of several lines is an array.
function placesAxis(labels, title) {
  return {type: 'linear', min: -0.5, max: labels.length - 0.5, title: axisTitle(title), grid: {display: false},
    // Where not every label finds room, every second or third is left out; the last one stays.
    afterBuildTicks: (axis) => {
      const widest = Math.max(...labels.map((label) => [].concat(label)[0].length)) * 8 + 8;
      const step = Math.ceil(widest * labels.length / (axis.chart.width - 50));
      axis.ticks = labels.map((label, i) => ({value: i})).filter((tick) => (labels.length - 1 - tick.value) % step === 0);
    },
    ticks: {color: palette.soft, autoSkip: false, maxRotation: 0, callback: (value) => labels[Math.round(value)]},
    border: {color: palette.grid}};
}
const axisTitle = (text) => ({display: !!text, text: text, color: palette.soft});
function valueAxis(title, more) {
  return Object.assign({title: axisTitle(title), grid: {color: palette.grid}, ticks: {color: palette.soft, maxTicksLimit: 8}}, more);
}
function percentAxis(points, title) {
  // By the estimates: a whisker that is far out is cut off rather than making all else flat.
  const values = points.map((p) => p.y).concat([96, 104]);
  const low = Math.min(...values), high = Math.max(...values), room = Math.max(2, (high - low) * 0.15);
  const min = Math.max(0, Math.floor((low - room) / 5) * 5), max = Math.ceil((high + room) / 5) * 5;
  return valueAxis(title, {min: min, max: max, ticks: {color: palette.soft, maxTicksLimit: 8, callback: (v) => v + '%'}});
}
function logAxis(title) {
  return valueAxis(title, {type: 'logarithmic', grace: '5%', ticks: {color: palette.soft, autoSkip: true, maxTicksLimit: 9, callback: (v) => {
    const lead = Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
    return [1, 2, 5].includes(lead) ? Number(v.toPrecision(3)).toLocaleString('en', {maximumFractionDigits: 2}) : null;
  }}});
}

function armSet(arm, points, more) {
  return Object.assign({label: data.arms[arm].name, arm: arm, data: points, borderColor: armColor(arm), backgroundColor: armColor(arm),
    pointStyle: armShape(arm), pointRadius: 5, pointHoverRadius: 8, borderDash: DASHES[arm % DASHES.length], borderWidth: 2, whiskers: true}, more);
}

function chartOptions(x, y, tooltip, more) {
  return Object.assign({responsive: true, maintainAspectRatio: false, animation: false, color: palette.ink, locale: 'en',
    layout: {padding: {top: 6, right: 10}}, scales: {x: x, y: y}, interaction: {mode: 'nearest', intersect: true},
    plugins: {legend: {display: false}, tooltip: {callbacks: {title: () => '', label: tooltip}}, reference: {}}}, more);
}

// A figure with its chart and the table behind it. make() gives the configuration, columns and rows make the table.
function addChart(grid, id, title, description, make, table) {
  const canvas = element('canvas', {role: 'img', id: 'chart-' + id, 'aria-label': title + '. ' + description + ' The table below has the figures.'});
  const behind = element('details', {}, element('summary', {}, 'Figures as a table'));
  behind.addEventListener('toggle', () => {
    if (behind.open && behind.children.length === 1) behind.append(table());
  });
  grid.append(element('figure', {}, element('figcaption', {}, title), element('div', {class: 'plot'}, canvas), behind));
  charts.push({id: id, canvas: canvas, make: make, chart: null});
}

function keyList(arms) {
  const list = element('ul', {class: 'keys', 'aria-label': 'Deployments'});
  for (const arm of arms) list.append(element('li', {}, shapeMark(arm, 14), data.arms[arm].name + (arm === data.baseline ? ' (baseline)' : '')));
  return list;
}

// Points of all arms as the rows of a table.
function pointColumns(labels, place, unit) {
  return [{name: 'deployment', text: true, value: (p) => p.arm, show: (p) => data.arms[p.arm].name},
    {name: place, text: true, value: (p) => p.at, show: (p) => [].concat(labels[p.at]).join(' ')},
    {name: unit, value: (p) => p.y, show: (p) => digits(p.y)},
    {name: 'from', value: (p) => p.low, show: (p) => p.low > 0 ? digits(p.low) : ''},
    {name: 'to', value: (p) => p.high, show: (p) => p.high > 0 ? digits(p.high) : ''}];
}

// Side by side within one place: so much room for each, at most.
function beside(at, position, count, room) {
  return at + (position - (count - 1) / 2) * Math.min(room || 0.24, 0.7 / count);
}

// The article's sizes and threads where they were measured, else the first, the middle and the last.
function chosen(all, wanted) {
  const there = wanted.filter((value) => all.includes(value));
  if (there.length === wanted.length || all.length <= 3) return there.length === wanted.length ? there : all;
  return [...new Set([all[0], all[Math.floor((all.length - 1) / 2)], all[all.length - 1]])];
}

// The places of a test's chart: block sizes x threads.
function placesOf(test) {
  return chosen(blocksOf(test), [4096, 16384, 2097152]).flatMap((b) => chosen(threads, [1, 2, 8]).map((j) => [b, j]));
}

function articleSection(section) {
  if (!candidates.length || !data.cells.length) return false;
  section.append(element('p', {class: 'note'}, 'Throughput in percent of ' + base.name + '. The line is ' + base.name +
    ', the band within 2% of it counts as the same; whiskers are ' + (data.rounds >= 6 ? '95% intervals.' : data.rounds > 1 ?
    'the range of the rounds.' : 'missing, since there are single runs.')), keyList(candidates));
  const grid = element('div', {class: 'plots'});
  section.append(grid);
  for (const test of tests) {
    const places = placesOf(test), group = places.filter(([b]) => b === places[0][0]).length;
    const labels = places.map(([b, j], i) => [String(j), i % group === Math.floor((group - 1) / 2) ? sizeText(b) : '']);
    const sets = candidates.map((arm, position) => places.map(([b, j], at) => {
      const cell = cellAt(test, b, j), p = cell && cell.a[arm].p;
      return p && {x: beside(at, position, candidates.length), y: p[0], low: p[1], high: p[2], at: at, arm: arm, cell: data.cells.indexOf(cell)};
    }).filter(Boolean));
    if (!sets.flat().length) continue;
    addChart(grid, 'percent-' + test, test + ', percent of ' + base.name, 'Points for block sizes and threads, with intervals.', () => ({
      type: 'scatter', data: {datasets: candidates.map((arm, i) => armSet(arm, sets[i]))},
      options: withReference(chartOptions(placesAxis(labels, 'threads, and block size'), percentAxis(sets.flat()),
        (item) => data.arms[item.raw.arm].name + ', ' + cellText(data.cells[item.raw.cell]) + ': ' + percentText(item.raw.y) + ' (' +
          percentText(item.raw.low) + ' to ' + percentText(item.raw.high) + ')')),
    }), () => makeTable(pointColumns(places.map(([b, j]) => sizeText(b) + ', ' + threadsText(j)), 'block, threads', 'percent'), sets.flat(), test));
  }
  return true;
}
function withReference(options) {
  options.plugins.reference = {at: 100};
  return options;
}

// A control that redraws the charts of its section.
function choice(name, values, text, preset, onChange) {
  const select = element('select', {}, ...values.map((value) => element('option', {value: value}, text(value))));
  select.value = preset;
  select.addEventListener('change', () => { onChange(Number(select.value)); });
  return element('label', {}, name + ' ', select);
}

function rateSection(section) {
  if (!data.cells.length) return false;
  const grid = element('div', {class: 'plots'});
  const state = {count: threads.includes(1) ? 1 : threads[0]};
  section.append(element('p', {class: 'note'}, 'Medians over the rounds in MB/s (10^6 bytes a second), on a logarithmic scale; whiskers are ' +
    (data.rounds >= 6 ? '95% intervals of the rate.' : 'the range of the rounds.')),
    element('div', {class: 'controls'}, choice('Workers', threads, threadsText, state.count, (v) => { state.count = v; repaint('rate-'); })),
    keyList(everyArm.filter((arm) => !noiseArms.includes(arm))), grid);
  const arms = everyArm.filter((arm) => !noiseArms.includes(arm));
  for (const test of tests) {
    const own = blocksOf(test), labels = own.map(sizeText), unit = unitOf(test);
    const points = () => arms.map((arm, position) => own.map((b, at) => {
      const cell = cellAt(test, b, state.count), r = cell && cell.a[arm].r;
      return r && {x: beside(at, position, arms.length, 0.05), y: r[0], low: r[1], high: r[2], at: at, arm: arm, cell: data.cells.indexOf(cell)};
    }).filter(Boolean));
    addChart(grid, 'rate-' + test, test + ', ' + unit, 'Lines over the block size.', () => ({
      type: 'line', data: {datasets: points().map((set, i) => armSet(arms[i], set, {pointRadius: 4}))},
      options: chartOptions(placesAxis(labels, 'block size'), logAxis(''), (item) => data.arms[item.raw.arm].name + ', ' +
        cellText(data.cells[item.raw.cell]) + ': ' + digits(item.raw.y) + ' ' + unit),
    }), () => makeTable(pointColumns(labels, 'block', unit), points().flat(), test));
  }
  return true;
}

function latencySection(section) {
  if (!data.cells.some((cell) => cell.a.some((entry) => entry.l))) return false;
  const grid = element('div', {class: 'plots'}), sizes = blocks.filter((b) => b > 0);
  const state = {block: sizes[0], count: threads.includes(1) ? 1 : threads[0]};
  const arms = everyArm.filter((arm) => !noiseArms.includes(arm));
  section.append(element('p', {class: 'note'}, 'Time of single operations in microseconds at each percentile: medians over the rounds, ' +
    'on a logarithmic scale.'), element('div', {class: 'controls'},
    sizes.length > 1 && choice('Block size', sizes, sizeText, state.block, (v) => { state.block = v; repaint('latency-'); }),
    choice('Workers', threads, threadsText, state.count, (v) => { state.count = v; repaint('latency-'); })), keyList(arms), grid);
  for (const test of tests) {
    const points = () => arms.map((arm) => {
      const cell = cellAt(test, blocksOf(test).includes(state.block) ? state.block : blocksOf(test)[0], state.count);
      return ((cell && cell.a[arm].l) || []).map((y, at) => ({x: at, y: y, at: at, arm: arm, cell: data.cells.indexOf(cell)}));
    });
    addChart(grid, 'latency-' + test, test + ', microseconds', 'Lines over the percentiles.', () => ({
      type: 'line', data: {datasets: points().map((set, i) => armSet(arms[i], set, {pointRadius: 4}))},
      options: chartOptions(placesAxis(LATENCIES, 'percentile'), logAxis(''), (item) => data.arms[item.raw.arm].name + ', ' +
        LATENCIES[item.raw.at] + ': ' + digits(item.raw.y) + ' \u00b5s'),
    }), () => makeTable(pointColumns(LATENCIES, 'percentile', '\u00b5s').slice(0, 3), points().flat(), test));
  }
  return true;
}

function barSet(index, label, values, color) {
  return {label: label, data: values, backgroundColor: hatch(index, color), borderColor: color, borderWidth: 1.5, barPercentage: 0.9, categoryPercentage: 0.8};
}
function barOptions(stacked) {
  const options = chartOptions(valueAxis('CPU seconds per GiB', {beginAtZero: true, stacked: stacked}),
    {type: 'category', stacked: stacked, grid: {display: false}, ticks: {color: palette.ink}},
    (item) => item.dataset.label + ': ' + digits(item.raw) + ' s/GiB');
  options.indexAxis = 'y';
  options.plugins.legend = {display: true, position: 'top', align: 'start', labels: {color: palette.ink, boxWidth: 26, boxHeight: 12}};
  return options;
}

function cpuSection(section) {
  if (!data.cpu) return false;
  const grid = element('div', {class: 'plots'}), rows = data.means.filter((m) => m.over <= 1);
  const arms = everyArm.filter((arm) => !noiseArms.includes(arm));
  section.append(element('p', {class: 'note'}, 'CPU seconds of the whole machine for each GiB (2^30 bytes) moved: geometric means. Soft ' +
    'interrupts and virtual networks belong to no process; their work is in the unattributed part.'), grid);
  addChart(grid, 'cpu-tests', 'CPU seconds per GiB, by test', 'Bars for each deployment.', () => ({
    type: 'bar', data: {labels: rows.map((m) => m.name), datasets: arms.map((arm, i) => barSet(i, data.arms[arm].name,
      rows.map((m) => m.a[arm].c || null), armColor(arm)))}, options: barOptions(false),
  }), () => makeTable([{name: 'mean over', text: true, value: (m) => rows.indexOf(m), show: (m) => m.name}].concat(arms.map((arm) => (
    {name: data.arms[arm].name, value: (m) => m.a[arm].c, show: (m) => m.a[arm].c ? digits(m.a[arm].c) : ''}))), rows, 'CPU seconds per GiB'));
  const shared = arms.filter((arm) => data.arms[arm].share && data.means[0].a[arm].c), parts = ['iobench', 'cluster', 'unattributed'];
  const part = (arm, k) => data.arms[arm].share[k] * data.means[0].a[arm].c;
  if (!shared.length) return true;
  addChart(grid, 'cpu-parts', 'Who used it', 'Stacked bars: iobench itself, the cluster, unattributed.', () => ({
    type: 'bar', data: {labels: shared.map((arm) => data.arms[arm].name), datasets: parts.map((name, k) =>
      barSet(k, name, shared.map((arm) => part(arm, k)), palette.arms[[1, 3, 2][k]]))}, options: barOptions(true),
  }), () => makeTable([{name: 'deployment', text: true, value: (arm) => arm, show: (arm) => data.arms[arm].name}].concat(parts.map((name, k) => (
    {name: name, value: (arm) => part(arm, k), show: (arm) => digits(part(arm, k))}))), shared, 'Parts of the CPU time'));
  return true;
}

function noiseSection(section) {
  if (data.rounds < 2) return false;
  const grid = element('div', {class: 'plots'}), labels = blocks.map(sizeText);
  const middle = (values) => values.sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
  const arms = everyArm;
  const points = arms.map((arm, position) => blocks.map((b, at) => {
    const spreads = data.cells.filter((c) => c.b === b && c.a[arm].r && c.a[arm].r[4] > 1).map((c) => c.a[arm].r[5]);
    return spreads.length ? {x: beside(at, position, arms.length, 0.05), y: middle(spreads), at: at, arm: arm} : null;
  }).filter(Boolean));
  section.append(element('p', {class: 'note'}, 'How much the same run differs from round to round. Differences between deployments that are ' +
    'not clearly larger mean nothing.' + (noiseArms.length ? '' : ' A sweep with --aa measures the baseline against itself, too.')), keyList(arms), grid);
  addChart(grid, 'noise-spread', 'Spread of the rounds, percent', 'Median absolute deviation, lines over the block size.', () => ({
    type: 'line', data: {datasets: points.map((set, i) => armSet(arms[i], set, {pointRadius: 4}))},
    options: chartOptions(placesAxis(labels, 'block size'), valueAxis('', {beginAtZero: true, ticks: {color: palette.soft, callback: (v) => v + '%'}}),
      (item) => data.arms[item.raw.arm].name + ', ' + labels[item.raw.at] + ': ' + percentText(item.raw.y)),
  }), () => makeTable(pointColumns(labels, 'block', 'percent').slice(0, 3), points.flat(), 'Spread'));
  for (const arm of noiseArms) {
    const set = data.cells.map((cell, i) => ({cell: i, p: cell.a[arm].p})).filter((e) => e.p).sort((a, b) => a.p[0] - b.p[0])
      .map((e, x) => ({x: x, y: e.p[0], low: e.p[1], high: e.p[2], arm: arm, cell: e.cell, at: e.cell}));
    addChart(grid, 'noise-' + arm, data.arms[data.arms[arm].ref].name + ' against itself', 'Every workload, in order of size.', () => ({
      type: 'scatter', data: {datasets: [armSet(arm, set, {pointRadius: 3})]},
      options: withReference(chartOptions(valueAxis('workloads, in order', {ticks: {color: palette.soft, precision: 0}}), percentAxis(set),
        (item) => cellText(data.cells[item.raw.cell]) + ': ' + percentText(item.raw.y))),
    }), () => makeTable(pointColumns(data.cells.map(cellText), 'workload', 'percent'), set, 'Noise'));
  }
  return true;
}

// Minutes of measuring: pauses of more than a minute, between two sittings, are taken out.
function timeSection(section) {
  if (data.runs.length < 2) return false;
  const grid = element('div', {}), at = [];
  let pause = 0;
  data.runs.forEach((run, i) => {
    const gap = i ? run[2] - data.runs[i - 1][2] : 0;
    if (gap > 60000 + 20000) pause += gap;
    at.push((run[2] - pause) / 60000);
  });
  const arms = everyArm;
  const points = arms.map((arm) => data.runs.map((run, i) => ({run: run, x: at[i]})).filter(({run}) => run[0] === arm && data.cells[run[1]].a[arm].r)
    .map(({run, x}) => ({x: x, y: 100 * run[3] / data.cells[run[1]].a[arm].r[0], arm: arm, cell: run[1], rate: run[3]})));
  const clipped = points.map((set) => set.filter((p) => p.y >= 40 && p.y <= 160));
  const hidden = points.flat().length - clipped.flat().length;
  section.append(element('p', {class: 'note'}, 'Each run in percent of its workload\u2019s median on the same deployment, in the order in which they ' +
    'ran: a machine that drifts or stumbles shows here.' + (hidden ? ' ' + hidden + ' of ' + points.flat().length + ' runs are outside 40 to 160%.' : '')), keyList(arms), grid);
  const windows = 12, last = at[at.length - 1] || 1;
  addChart(grid, 'time', 'Runs over time, percent of their median', 'One point for each run.', () => ({
    type: 'scatter', data: {datasets: clipped.map((set, i) => armSet(arms[i], set, {pointRadius: data.runs.length > 1000 ? 2 : 3.5, whiskers: false, borderWidth: 1}))},
    options: withReference(chartOptions(valueAxis('minutes of measuring', {min: 0, max: Math.ceil(last * 10) / 10}),
      valueAxis('', {min: 40, max: 160, ticks: {color: palette.soft, callback: (v) => v + '%'}}),
      (item) => data.arms[item.raw.arm].name + ', ' + cellText(data.cells[item.raw.cell]) + ': ' + digits(item.raw.rate) + ' ' + unitOf(data.cells[item.raw.cell].t))),
  }), () => makeTable([{name: 'from minute', text: true, value: (w) => w, show: (w) => (w * last / windows).toFixed(1)}].concat(arms.map((arm, i) => {
    const mean = (w) => {
      const inside = points[i].filter((p) => Math.min(windows - 1, Math.floor(p.x / last * windows)) === w).map((p) => p.y).sort((a, b) => a - b);
      return inside[Math.floor((inside.length - 1) / 2)];
    };
    return {name: data.arms[arm].name + ', median', value: mean, show: (w) => mean(w) === undefined ? '' : percentText(mean(w))};
  })), [...Array(windows).keys()], 'Runs over time'));
  return true;
}

function repaint(prefix) {
  for (const entry of charts) {
    if (!entry.id.startsWith(prefix)) continue;
    if (entry.chart) entry.chart.destroy();
    entry.chart = new Chart(entry.canvas, Object.assign(entry.make(), {plugins: [whiskers, reference]}));
    const behind = entry.canvas.closest('figure').querySelector('details');
    if (behind.children.length > 1) {
      behind.lastChild.remove();
      behind.open = false;
    }
  }
}

// All charts in the colours of the screen, or in the light ones for paper.
function paint(printing) {
  palette = dark.matches && printing !== true ? PALETTES.dark : PALETTES.light;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  for (const path of document.querySelectorAll('path[data-arm]')) path.setAttribute('fill', armColor(Number(path.dataset.arm)));
  repaint('');
}
dark.addEventListener('change', () => paint());
window.addEventListener('beforeprint', () => paint(true));
window.addEventListener('afterprint', () => paint());
