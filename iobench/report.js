// SPDX-License-Identifier: Apache-2.0
// The report's data and how figures are written; the cards, the heat maps and the environment. report_tables.js makes the
// sortable tables, report_charts.js the charts; all share this one scope. Every text goes in as text, never as HTML.
'use strict';

// data: arms (deployments), cells (t test, b block in bytes, j threads, o counts operations, a: one entry an arm), means, runs,
// results. An arm's entry: s state, r rate [median, low, high in MB/s or op/s, is an interval, runs, spread %], c CPU s/GiB, l latency in us
// [p50 p90 p99 p99.9 p99.99 max], p throughput and u CPU in percent of the reference [estimate, low, high, is an interval,
// rounds], v verdict, f survives many looks, z noise differs, m more rounds needed.
const data = JSON.parse(document.getElementById('data').textContent);
const STATES = ['measured', 'missing', 'marked', 'failed'];
const VERDICTS = [{mark: '', word: 'no verdict'}, {mark: '=', word: 'same'}, {mark: '\u2212', word: 'slower'},
  {mark: '+', word: 'faster'}, {mark: '?', word: 'unclear'}];
const LATENCIES = ['p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max'];
const base = data.arms[data.baseline];
const everyArm = data.arms.map((arm, index) => index);
const candidates = everyArm.filter((i) => data.arms[i].role === 'candidate');
const noiseArms = everyArm.filter((i) => data.arms[i].role === 'noise');
const tests = [...new Set(data.cells.map((c) => c.t))];
const blocks = [...new Set(data.cells.map((c) => c.b))].sort((a, b) => a - b);
const threads = [...new Set(data.cells.map((c) => c.j))].sort((a, b) => a - b);
const cellIndex = new Map(data.cells.map((c, i) => [c.t + '/' + c.b + '/' + c.j, i]));
const cellAt = (test, block, count) => data.cells[cellIndex.get(test + '/' + block + '/' + count)];

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// The block sizes of a test; tests of names have the one size 0.
const blocksOf = (test) => blocks.filter((b) => threads.some((j) => cellAt(test, b, j)));
const unitOf = (test) => data.cells.find((c) => c.t === test).o ? 'op/s' : 'MB/s';

// Sizes as the benchmarks write them: k up to 9999k, then m, g.
function sizeText(bytes) {
  if (bytes === 0) return '-';
  const units = ['', 'k', 'm', 'g', 't'];
  let value = bytes, unit = 0;
  while (value % 1024 === 0 && unit < 4 && (unit === 0 || value > 9999)) { value /= 1024; unit++; }
  return value + units[unit];
}
const threadsText = (count) => count + (count === 1 ? ' thread' : ' threads');
const cellText = (cell) => cell.t + ', ' + (cell.b ? sizeText(cell.b) + ', ' : '') + threadsText(cell.j);
const percentText = (value) => value.toFixed(1) + '%';
const digits = (value) => value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
const intervalText = (p) => (p[4] < 2 ? 'single run' : percentText(p[1]) + ' to ' + percentText(p[2]));

// What a ratio is called: an interval, or only the range that was seen.
function sureText(p) {
  if (p[4] < 2) return 'a single run, no interval';
  return (p[3] ? '95% interval ' : 'range of the runs ') + intervalText(p) + ', ' + p[4] + ' rounds';
}

// Warm for slower, cold for faster, stronger the farther from 100%. The number and the verdict's mark say the same.
function heat(percent) {
  const far = Math.min(1, Math.abs(percent - 100) / 40);
  if (Math.abs(percent - 100) <= 2) return '';
  return 'background: rgb(var(--' + (percent < 100 ? 'slower' : 'faster') + ') / ' + (0.12 + 0.55 * far).toFixed(3) + ')';
}

function shapeMark(arm, size) {
  const svg = 'http://www.w3.org/2000/svg';
  const made = document.createElementNS(svg, 'svg'), path = document.createElementNS(svg, 'path');
  const shapes = {circle: 'M8 2a6 6 0 1 0 .01 0z', rect: 'M3 3h10v10h-10z', triangle: 'M8 2l7 12h-14z', rectRot: 'M8 1l7 7-7 7-7-7z',
    star: 'M7 1h2v5.3l4.6-2.7 1 1.8-4.6 2.6 4.6 2.6-1 1.8-4.6-2.7v5.3h-2v-5.3l-4.6 2.7-1-1.8 4.6-2.6-4.6-2.6 1-1.8 4.6 2.7z'};
  made.setAttribute('viewBox', '0 0 16 16');
  made.setAttribute('width', size);
  made.setAttribute('height', size);
  made.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', shapes[armShape(arm)]);
  path.setAttribute('data-arm', arm);
  made.append(path);
  return made;
}
const SHAPES = ['circle', 'rect', 'triangle', 'rectRot', 'star'];
const armShape = (arm) => SHAPES[arm % SHAPES.length];

function verdictBadge(entry) {
  const verdict = VERDICTS[entry.v || 0];
  return element('span', {class: 'badge ' + verdict.word}, (verdict.mark ? verdict.mark + ' ' : '') + verdict.word);
}

// "17.0% slower than bare", honest about what is inside the noise.
function differenceText(entry) {
  const p = entry.p, change = p[0] - 100;
  const amount = Math.abs(change).toFixed(1) + '% ' + (change < 0 ? 'slower' : 'faster') + ' than ' + base.name;
  if (entry.v === 1) return 'as fast as ' + base.name + ', within 2%';
  if (entry.v === 4) return amount + ', but not certain';
  if (!entry.v) return amount + (p[4] < 2 ? ', in a single run' : ', in too few rounds to be sure');
  return amount;
}

function testList(arm) {
  const list = element('ul', {class: 'tests', 'aria-label': 'Percent of ' + base.name + ' by test'});
  for (const mean of data.means.filter((m) => m.over === 1)) {
    const entry = mean.a[arm];
    if (!entry.p) continue;
    const mark = VERDICTS[entry.v].mark;
    list.append(element('li', {style: heat(entry.p[0]), title: sureText(entry.p)}, element('span', {}, mean.name),
      element('b', {}, entry.p[0].toFixed(1) + (mark ? ' ' + mark : ''))));
  }
  return list;
}

function certaintyText(arm) {
  const counts = data.arms[arm].verdicts, all = counts.reduce((a, b) => a + b, 0);
  if (counts[0] === all) return 'no verdict on any of ' + all + ' workloads';
  return 'of ' + all + ' workloads ' + [[2, 'slower'], [3, 'faster'], [1, 'the same'], [4, 'unclear'], [0, 'without verdict']]
    .filter(([v]) => counts[v] > 0).map(([v, word]) => counts[v] + ' ' + word).join(', ');
}

function card(arm) {
  const entry = data.means[0].a[arm], made = element('article', {class: 'card'});
  made.append(element('h3', {}, shapeMark(arm, 16), data.arms[arm].name, entry.p ? verdictBadge(entry) : null));
  if (!entry.p) {
    made.append(element('p', {class: 'sub'}, 'No overall figure: no round is complete.'));
    return made;
  }
  const list = element('dl', {});
  const fact = (name, text) => list.append(element('dt', {}, name), element('dd', {}, text));
  made.append(element('p', {class: 'big'}, percentText(entry.p[0]), ' ', element('small', {}, 'of the throughput of ' + base.name)));
  made.append(element('p', {class: 'sub'}, differenceText(entry)));
  made.append(testList(arm));
  const worst = data.cells[data.arms[arm].worst], best = data.cells[data.arms[arm].best];
  fact('Worst', percentText(worst.a[arm].p[0]) + ': ' + cellText(worst));
  fact('Best', percentText(best.a[arm].p[0]) + ': ' + cellText(best));
  fact('How sure', sureText(entry.p) + '; ' + certaintyText(arm));
  if (entry.u)
    fact('CPU cost', Math.abs(entry.u[0] - 100).toFixed(1) + '% ' + (entry.u[0] < 100 ? 'less' : 'more') + ' CPU time per byte: ' +
      digits(entry.c) + ' against ' + digits(data.means[0].a[data.baseline].c) + ' s/GiB');
  made.append(list);
  return made;
}

function heatTable(arm, test) {
  const table = element('table', {}, element('caption', {}, test));
  const head = element('tr', {}, element('th', {scope: 'col', style: 'width:52px'}, 'block'));
  for (const count of threads) head.append(element('th', {scope: 'col'}, element('abbr', {title: threadsText(count), style: 'text-decoration:none'}, '\u00d7' + count)));
  table.append(element('thead', {}, head));
  const body = element('tbody', {});
  for (const block of blocksOf(test)) {
    const row = element('tr', {}, element('th', {scope: 'row'}, sizeText(block)));
    for (const count of threads) row.append(heatCell(cellAt(test, block, count), arm));
    body.append(row);
  }
  table.append(body);
  return table;
}

function heatCell(cell, arm) {
  const entry = cell && cell.a[arm];
  if (!entry || !entry.p) return element('td', {}, entry ? (STATES[entry.s] === 'missing' ? '-' : STATES[entry.s]) : '-');
  const verdict = VERDICTS[entry.v];
  const made = element('td', {style: heat(entry.p[0]), title: cellText(cell) + ': ' + percentText(entry.p[0]) + ' (' + sureText(entry.p) +
    ', ' + verdict.word + ')'}, entry.p[0].toFixed(entry.p[0] < 999.5 ? 1 : 0) + (verdict.mark ? '\u2009' + verdict.mark : ''));
  made.dataset.value = entry.p[0];
  return made;
}

function heatSection(section) {
  section.append(element('p', {class: 'note'}, 'Throughput in percent of ' + base.name + ', by block size (rows) and threads ' +
    '(columns). The marks after a number are verdicts; the colour repeats the number.'));
  const legend = element('ul', {class: 'legend', 'aria-label': 'Marks'});
  for (const [v, text] of [[1, 'same: interval inside 98 to 102%'], [2, 'slower: all of the interval below 100%, estimate at most 98%'],
    [3, 'faster, likewise'], [4, 'unclear']])
    legend.append(element('li', {}, element('span', {}, VERDICTS[v].mark), ' ' + text));
  if (data.rounds >= 6) section.append(legend);
  const scale = element('ul', {class: 'legend', 'aria-label': 'Colours'});
  for (const percent of [60, 80, 90, 95, 100, 105, 120]) scale.append(element('li', {}, element('span', {style: heat(percent)}, percent + '%')));
  section.append(scale);
  for (const arm of candidates) {
    section.append(element('h3', {}, shapeMark(arm, 14), ' ', data.arms[arm].name));
    /* So wide that "102.3 +" has its place in every column. */
    const group = element('div', {class: 'heats', style: '--least:' + (56 + 54 * threads.length) + 'px'});
    for (const test of tests) group.append(heatTable(arm, test));
    section.append(group);
  }
}

function facts(pairs) {
  const list = element('dl', {class: 'facts'});
  for (const [name, text] of pairs) if (text) list.append(element('dt', {}, name), element('dd', {}, text));
  return list;
}

// The command with the seed that was drawn, so that it gives the same orders and the same data.
function commandText(r) {
  return r.command + (/--seed\b/.test(r.command) ? '' : ' --seed ' + r.seed);
}
const timeText = (ms) => ms > 0 ? new Date(ms).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '';

function environmentOf(r) {
  const e = r.environment;
  const sizes = [...new Set(r.files.map((f) => f[1]))];
  const filesText = sizes.length === 1 ? sizeText(sizes[0]) + ' a worker'
    : r.files.map((f) => sizeText(f[1]) + ' at ' + sizeText(f[0])).join(', ') + ' a worker';
  return facts([
    ['Measured', timeText(r.started_ms) + ' to ' + timeText(r.finished_ms) + ', ' + r.samples + ' runs, ' + r.planned +
      ' interleaved rounds' + (r.complete ? '' : ', interrupted')],
    ['Machine', e.hostname + ': ' + e.cpu + ', ' + e.cpus + ' CPUs, ' + e.memory + (e.virtualization ? ', virtualization ' + e.virtualization : '')],
    ['System', e.kernel + '; ' + e.os + (e.containers ? '; ' + e.containers : '')],
    ['Idle cores', 'cpuidle ' + (e.cpuidle || 'unknown') + '/' + (e.cpuidle_governor || 'unknown') + ', frequency governor ' +
      (e.frequency_governor || 'unknown') + (e.halt_poll_ns >= 0 ? ', guest_halt_poll_ns ' + e.halt_poll_ns : '')],
    ['Setting', 'cache ' + r.cache + ', engine ' + r.engine + ', files ' + filesText + ', preset ' + r.preset + ', seed ' + r.seed +
      (r.verify ? ', data verified' : '')],
    ['Programs', r.version + ', SHA-256 of iobench ' + r.sha256],
    ['Note', e.warning],
  ]);
}

function environmentSection(section) {
  for (const r of data.results) {
    if (data.results.length > 1) section.append(element('h3', {}, r.label || 'result'));
    if (r.earlier) {
      section.append(element('p', {class: 'note'}, 'Earlier figures from a CSV file: rates alone, nothing is known of where they come from.'));
      continue;
    }
    section.append(element('p', {class: 'note'}, 'This repeats the measurement, in the same order and with the same data:'),
      element('pre', {class: 'command'}, commandText(r)), environmentOf(r));
  }
  section.append(element('h3', {}, 'Deployments'));
  section.append(facts(data.arms.map((a) => [a.name + (a.role === 'baseline' ? ' (baseline)' : a.role === 'noise' ? ' (noise arm)' : ''),
    a.fs ? a.fs + ' from ' + a.source + ' at ' + a.directory + (a.journal ? ', journal ' + a.journal : '') +
      (a.sha256 ? ', client SHA-256 ' + a.sha256 : '') : 'rates only'])));
}

function start() {
  const results = data.results.filter((r) => r.started_ms > 0);
  if (results.length) {
    document.getElementById('when').textContent = '\u00b7 ' + timeText(results[0].started_ms).slice(0, 10) + ' \u00b7 ' +
      results[0].environment.cpu + ', ' + results[0].environment.cpus + ' CPUs';
  }
  for (const arm of candidates) document.getElementById('cards').append(card(arm));
  const sections = {where: heatSection, article: articleSection, rates: rateSection, latency: latencySection, cpu: cpuSection,
    noise: noiseSection, time: timeSection, means: meansSection, cells: cellsSection, repeat: environmentSection, text: () => {}};
  const nav = document.getElementById('sections');
  for (const [id, make] of Object.entries(sections)) {
    const section = document.getElementById(id);
    // A part without figures (no CPU time in a CSV, nothing to compare) is left out, and so is its link.
    if (make(section) === false) { section.remove(); continue; }
    nav.append(element('a', {href: '#' + id}, section.querySelector('h2').textContent));
  }
  paint();
}
document.addEventListener('DOMContentLoaded', start);
