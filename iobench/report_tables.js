// SPDX-License-Identifier: Apache-2.0
// Sortable tables, those behind charts too, and in which unit ratios are written.

const UNITS = {
  percent: {name: 'percent of the baseline', text: (p) => p.toFixed(1) + '%'},
  change: {name: 'percent change', text: (p) => (p >= 100 ? '+' : '\u2212') + Math.abs(p - 100).toFixed(1) + '%'},
  speedup: {name: 'speed-up', text: (p) => (p / 100).toFixed(3) + '\u00d7'},
};

// A table from columns {name, text (aligned left), value(row), show(row)}; a click on a heading sorts by value.
function makeTable(columns, rows, label, limit) {
  const body = element('tbody', {}), head = element('tr', {}), table = element('table', {});
  const draw = (ordered) => body.replaceChildren(...ordered.map((row) => element('tr', {}, ...columns.map((column, i) =>
    element(i === 0 ? 'th' : 'td', Object.assign({class: column.text ? 'text' : ''}, i === 0 ? {scope: 'row'} : {}),
      column.show(row))))));
  columns.forEach((column) => {
    const button = element('button', {type: 'button'}, column.name);
    const th = element('th', {scope: 'col', class: column.text ? 'text' : ''}, button);
    button.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') === 'ascending';
      for (const other of head.children) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      draw([...rows].sort((a, b) => compareValues(column.value(a), column.value(b)) * (down ? -1 : 1)));
    });
    head.append(th);
  });
  draw(rows);
  table.append(element('caption', {style: 'position:absolute;left:-9999px'}, label), element('thead', {}, head), body);
  return element('div', {class: 'scroll' + (limit ? ' limit' : ''), tabindex: '0', role: 'region', 'aria-label': label}, table);
}

// Missing figures go last; numbers by size, texts by letters.
function compareValues(a, b) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  return typeof a === 'number' ? a - b : String(a).localeCompare(String(b));
}

function unitControl(onChange) {
  const select = element('select', {}, ...Object.entries(UNITS).map(([key, unit]) => element('option', {value: key}, unit.name)));
  select.addEventListener('change', () => onChange(UNITS[select.value]));
  return element('div', {class: 'controls'}, element('label', {}, 'Ratios as ', select));
}

// Columns for one arm's ratio: figure with verdict, interval, CPU.
function ratioColumns(arm, unit, entryOf) {
  const name = data.arms[arm].name, columns = [];
  const figure = (row) => entryOf(row).p;
  columns.push({name: name, value: (row) => figure(row) && figure(row)[0], show: (row) => {
    const entry = entryOf(row);
    if (!entry.p) return STATES[entry.s];
    return unit.text(entry.p[0]) + (entry.v ? ' ' + VERDICTS[entry.v].mark : '') + (entry.f ? '*' : '') + (entry.z ? 'n' : '');
  }});
  if (data.rounds > 1) {
    columns.push({name: data.rounds < 6 ? 'range' : 'interval', value: (row) => figure(row) && figure(row)[2] - figure(row)[1],
      show: (row) => figure(row) ? unit.text(figure(row)[1]) + ' to ' + unit.text(figure(row)[2]) : ''});
    if (data.rounds >= 6)
      columns.push({name: 'verdict', text: true, value: (row) => VERDICTS[entryOf(row).v || 0].word, show: (row) => VERDICTS[entryOf(row).v || 0].word});
  }
  if (data.cpu)
    columns.push({name: 'CPU per byte', value: (row) => entryOf(row).u && entryOf(row).u[0],
      show: (row) => entryOf(row).u ? unit.text(entryOf(row).u[0]) : ''});
  return columns;
}

function redrawn(section, make) {
  const place = element('div', {});
  const draw = (unit) => place.replaceChildren(...make(unit));
  section.append(unitControl(draw), place);
  draw(UNITS.percent);
}

function meansSection(section) {
  if (!candidates.length) return false;
  section.append(element('p', {class: 'note'}, 'Geometric means over all workloads that share a test, a block size or a thread count. ' +
    'Intervals come from the means of the rounds, so these figures are far surer than any single workload.'));
  redrawn(section, (unit) => candidates.map((arm) => element('div', {style: 'margin-bottom:14px'}, element('h3', {}, data.arms[arm].name),
    makeTable([{name: 'mean over', text: true, value: (m) => data.means.indexOf(m), show: (m) => m.name}]
      .concat(ratioColumns(arm, unit, (m) => m.a[arm])), data.means, 'Geometric means of ' + data.arms[arm].name))));
  return true;
}

function cellsSection(section) {
  if (!data.cells.length) return false;
  section.append(element('p', {class: 'note'}, 'Rates are medians over the rounds in MB/s (10^6 bytes a second), of tests of names in operations a second. * survives the ' +
    'Benjamini-Hochberg procedure at 5% over all ' + data.tested + ' looks; n: one side is more than three times as noisy as the other. ' +
    'A click on a heading sorts.'));
  redrawn(section, (unit) => {
    const columns = [{name: 'test', text: true, value: (c) => c.t, show: (c) => c.t},
      {name: 'block', value: (c) => c.b, show: (c) => sizeText(c.b)}, {name: 'threads', value: (c) => c.j, show: (c) => String(c.j)}];
    for (const arm of everyArm) {
      columns.push({name: data.arms[arm].name + (data.cells.some((c) => c.o) ? ' rate' : ' MB/s'), value: (c) => c.a[arm].r && c.a[arm].r[0],
        show: (c) => c.a[arm].r ? digits(c.a[arm].r[0]) : STATES[c.a[arm].s]});
      if (arm !== data.baseline) columns.push(...ratioColumns(arm, unit, (c) => c.a[arm]));
    }
    return [makeTable(columns, data.cells, 'Every workload', true)];
  });
  return true;
}
