// SPDX-License-Identifier: Apache-2.0
// What report_check.py asks of a page, from inside. It notes every text that is drawn on a canvas, with its box, so that charts
// can be checked like the page itself.
'use strict';

(() => {
  const drawn = new WeakMap(); // canvas -> boxes of its texts since it was last cleared
  const context = CanvasRenderingContext2D.prototype, fill = context.fillText, clear = context.clearRect;
  context.clearRect = function (x, y, width, height) {
    if (width * 2 >= this.canvas.width || height * 2 >= this.canvas.height) drawn.set(this.canvas, []);
    return clear.call(this, x, y, width, height);
  };
  context.fillText = function (text, x, y, limit) {
    const size = this.measureText(text), at = this.getTransform(), scale = this.canvas.width / (this.canvas.clientWidth || 1);
    const corners = [[-size.actualBoundingBoxLeft, -size.actualBoundingBoxAscent], [size.actualBoundingBoxRight, size.actualBoundingBoxDescent]]
      .map(([dx, dy]) => [(at.a * (x + dx) + at.c * (y + dy) + at.e) / scale, (at.b * (x + dx) + at.d * (y + dy) + at.f) / scale]);
    const box = {text: String(text), left: Math.min(corners[0][0], corners[1][0]), right: Math.max(corners[0][0], corners[1][0]),
      top: Math.min(corners[0][1], corners[1][1]), bottom: Math.max(corners[0][1], corners[1][1])};
    if (String(text).trim()) drawn.set(this.canvas, (drawn.get(this.canvas) || []).concat(box));
    return limit === undefined ? fill.call(this, text, x, y) : fill.call(this, text, x, y, limit);
  };
  window.drawnTexts = (canvas) => drawn.get(canvas) || [];
})();

function overlapping(boxes, where) {
  const findings = [], ordered = [...boxes].sort((a, b) => a.top - b.top);
  for (let i = 0; i < ordered.length; i++)
    for (let k = i + 1; k < ordered.length && ordered[k].top < ordered[i].bottom - 1; k++) {
      const a = ordered[i], b = ordered[k];
      if (a.owner && a.owner === b.owner) continue;
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.bottom - b.top > 1.5)
        findings.push(where + ': "' + a.text + '" and "' + b.text + '" overlap');
    }
  return findings;
}

// How many of the chart's pixels are neither background nor grid: an empty chart has next to none.
function inkOf(canvas, area, ratio) {
  const x = Math.round(area.left * ratio), y = Math.round(area.top * ratio);
  const width = Math.round((area.right - area.left) * ratio), height = Math.round((area.bottom - area.top) * ratio);
  const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
  const inside = copy.getContext('2d', {willReadFrequently: true});
  inside.drawImage(canvas, 0, 0);
  const pixels = inside.getImageData(x, y, width, height).data;
  let colored = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    const high = Math.max(pixels[i], pixels[i + 1], pixels[i + 2]), low = Math.min(pixels[i], pixels[i + 1], pixels[i + 2]);
    if (pixels[i + 3] > 128 && (high - low > 40 || high < 140)) colored++;
  }
  return colored;
}

function checkCharts() {
  const findings = [];
  if (charts.length < 4) findings.push('only ' + charts.length + ' charts');
  for (const entry of charts) {
    const canvas = entry.canvas, area = entry.chart.chartArea, name = 'chart ' + entry.id;
    const points = entry.chart.data.datasets.reduce((sum, set) => sum + set.data.length, 0);
    if (points === 0) findings.push(name + ': no figures');
    if (area.right - area.left < canvas.clientWidth * 0.5 || area.bottom - area.top < canvas.clientHeight * 0.4)
      findings.push(name + ': the labels leave no room');
    if (inkOf(canvas, area, entry.chart.currentDevicePixelRatio) < 60) findings.push(name + ': nothing is drawn');
    const texts = window.drawnTexts(canvas);
    if (texts.length < 4) findings.push(name + ': axes without labels');
    for (const box of texts)
      if (box.left < -1 || box.top < -1 || box.right > canvas.clientWidth + 1 || box.bottom > canvas.clientHeight + 1)
        findings.push(name + ': "' + box.text + '" is cut off');
    findings.push(...overlapping(texts, name));
    if (!(canvas.getAttribute('aria-label') || '').length || canvas.getAttribute('role') !== 'img') findings.push(name + ': no text for a screen reader');
    if (!canvas.closest('figure').querySelector('details')) findings.push(name + ': no table behind it');
  }
  return findings;
}

// The page's own texts: their boxes, and whether a box is cut by what it stands in.
function checkTexts() {
  const findings = [], boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const owner = node.parentElement;
    if (!node.data.trim() || owner.closest('script, style, .skip, caption[style], details:not([open]) > :not(summary), noscript, select')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const scroller = owner.closest('.scroll'), name = node.data.trim().slice(0, 40);
    if (!scroller && owner.scrollWidth > owner.clientWidth + 1 && owner.clientWidth > 0 && getComputedStyle(owner).display !== 'inline')
      findings.push('"' + name + '" is wider than its place');
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue;
      if (!scroller && (rect.left < 0 || rect.right > innerWidth + 1)) findings.push('"' + name + '" leaves the screen');
      // What scrolls under a sticky head is looked at unscrolled, and only what is in view.
      const view = scroller && scroller.getBoundingClientRect();
      if (view && (rect.bottom > view.bottom || rect.right > view.right)) continue;
      boxes.push({text: name, owner: owner, left: rect.left, right: rect.right, top: rect.top + rect.height * 0.15, bottom: rect.bottom - rect.height * 0.15});
    }
  }
  return findings.concat(overlapping(boxes, 'page'));
}

// The reader's four questions: how much, where, how sure, at what CPU cost; in view without scrolling, on the first card at least.
function checkFirstScreen() {
  const findings = [], card = document.querySelector('.card'), sentence = document.getElementById('sentence');
  const visible = (node) => node && node.getBoundingClientRect().bottom <= innerHeight && node.getBoundingClientRect().top >= 0;
  if (!visible(sentence)) findings.push('first screen: the sentence is not in view');
  if (innerWidth < 600) return findings;
  for (const [what, node] of [['how much', card && card.querySelector('.big')], ['where', card && card.querySelector('.tests')],
    ['the rest', card]])
    if (!visible(node)) findings.push('first screen: ' + what + ' is not in view');
  for (const word of ['Worst', 'How sure', data.cpu ? 'CPU cost' : 'Worst'])
    if (!card || !card.textContent.includes(word)) findings.push('first screen: ' + word + ' is missing');
  return findings;
}

function checkPage() {
  const findings = [...checkCharts(), ...checkTexts(), ...checkFirstScreen()];
  if (document.documentElement.scrollWidth > innerWidth) findings.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const [what, ok] of [['language', document.documentElement.lang], ['title', document.title], ['one h1', document.querySelectorAll('h1').length === 1]])
    if (!ok) findings.push('no ' + what);
  return findings;
}

// Every heading sorts its column up, then down; details behind charts open and have rows.
function checkTables() {
  const findings = [];
  for (const details of document.querySelectorAll('figure details')) {
    details.open = true;
    details.dispatchEvent(new Event('toggle'));
    if (!details.querySelector('tbody tr')) findings.push('no table behind ' + details.closest('figure').querySelector('canvas').id);
  }
  const table = document.querySelector('#cells table'), head = [...table.querySelectorAll('thead th')];
  const column = head.findIndex((th) => th.textContent.includes('MB/s'));
  for (const direction of ['ascending', 'descending']) {
    head[column].querySelector('button').click();
    const values = [...table.querySelectorAll('tbody tr')].map((row) => Number(row.children[column].textContent));
    const ordered = [...values].sort((a, b) => direction === 'ascending' ? a - b : b - a);
    if (head[column].getAttribute('aria-sort') !== direction) findings.push('aria-sort is not ' + direction);
    if (values.some((value, i) => value !== ordered[i])) findings.push('the table is not sorted ' + direction);
  }
  return findings;
}

function checkPrint() {
  window.dispatchEvent(new Event('beforeprint'));
  const light = palette === PALETTES.light;
  window.dispatchEvent(new Event('afterprint'));
  return light ? [] : ['printing uses the dark colours'];
}

// Every figure of every chart, with the workload it belongs to.
function chartPoints() {
  const points = [];
  for (const {id, chart} of charts) {
    for (const set of chart.data.datasets) {
      if (id === 'cpu-tests') {
        set.data.forEach((y, i) => points.push({chart: id, arm: data.arms.findIndex((a) => a.name === set.label), mean: chart.data.labels[i], y: y}));
      } else if (id !== 'cpu-parts') {
        for (const p of set.data) {
          const cell = p.cell === undefined ? {} : data.cells[p.cell];
          points.push({chart: id, arm: p.arm, at: p.at, y: p.y, rate: p.rate, test: cell.t, block: cell.b, threads: cell.j});
        }
      }
    }
  }
  return points;
}
