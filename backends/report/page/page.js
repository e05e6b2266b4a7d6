'use strict';
// Draws the run in #run: findings, timeline, graph, kernels. Needs nothing but this page.

window.onerror = (message) => { document.body.dataset.error = message; };

const run = JSON.parse(document.getElementById('run').textContent);

const SVG = 'http://www.w3.org/2000/svg';

/// An element with attributes and children (nodes or text).
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function hint(text) { return shape('title', {}, text); }

function section(id) { return document.getElementById(id); }

function duration(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(2)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(2)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

const number = (value) => Number(value).toLocaleString('en');

function table(heads, rows) {
  const cell = (tag, value) => typeof value === 'number'
      ? element(tag, {class: 'number'}, number(value)) : element(tag, {}, value);
  return element('table', {},
      element('tr', {}, ...heads.map((head, i) => element(
          'th', rows.length && typeof rows[0][i] === 'number' ? {class: 'number'} : {}, head))),
      ...rows.map((row) => element('tr', {}, ...row.map((value) => cell('td', value)))));
}

// ---- head and findings

function drawHead() {
  document.title = `${run.title} – doppel report`;
  document.querySelector('h1').textContent = run.title;
  const of = (kind) => run.nodes.filter((node) => node.kind === kind).length;
  const end = Math.max(0, ...run.spans.map((span) => span.end));
  section('summary').textContent =
      `${run.actors.length - 1} queues, ${of('submission')} submissions, ` +
      `${of('kernel')} kernels, ${of('transfer')} transfers in ${duration(end)} of the emulated ` +
      "machine's time" +
      (run.left_out ? `; ${number(run.left_out)} packets, kernels and calls beyond what a report ` +
                      'holds are left out' : '');
}

function drawFindings() {
  const place = section('findings');
  for (const text of run.faults) {
    place.append(element('div', {class: 'finding error'}, element('b', {}, 'fault'),
                         element('pre', {}, text)));
  }
  for (const text of run.stalls) {
    place.append(element('div', {class: 'finding error'}, element('b', {}, 'stalled'),
                         element('pre', {}, text)));
  }
  run.findings.forEach((finding, index) => {
    const links = finding.nodes.map((node) => {
      const link = element('a', {href: '#graph'}, `show ${run.nodes[node].name}`);
      link.onclick = () => chooseNode(node);
      return element('span', {}, link, ' ');
    });
    place.append(element('div', {class: `finding ${finding.severity}`, id: `finding-${index}`},
        element('b', {}, `${finding.severity}: ${finding.rule}`),
        element('pre', {}, finding.text), ...links));
  });
  if (place.childElementCount === 1) {
    place.append(element('p', {class: 'good'},
        run.checked ? 'None: no faults, no stalls, no hazards.' : 'No faults, no stalls.'));
  }
}

// ---- timeline

const culprits = run.findings.flatMap((finding) => finding.nodes.map((node) => run.nodes[node]));

/// Whether the span is work that a finding blames.
function isCulprit(span) {
  return culprits.some((node) => node.actor === span.actor && node.name === span.name &&
                                 span.begin <= node.begin && node.begin <= span.end);
}

const GUTTER = 230, ROW = 22, AXIS = 24;

/// One row for each actor's packets and each of its kernel tracks.
function timelineRows() {
  const rows = [];
  const numbers = new Map();
  for (const span of run.spans) numbers.set(span.actor * 1000 + span.track, span);
  for (const key of [...numbers.keys()].sort((a, b) => a - b)) {
    const {actor, track} = numbers.get(key);
    const name = run.actors[actor].name;
    rows.push({actor, track, label: track === 0 ? name : `${name}: kernels`, spans: []});
  }
  const rowOf = new Map(rows.map((row, i) => [row.actor * 1000 + row.track, i]));
  for (const span of run.spans) rows[rowOf.get(span.actor * 1000 + span.track)].spans.push(span);
  for (const row of rows) row.spans.sort((a, b) => a.begin - b.begin);
  return {rows, rowOf};
}

class Timeline {
  constructor(place) {
    this.place = place.querySelector('.picture');
    this.details = place.querySelector('.details');
    Object.assign(this, timelineRows());
    this.end = Math.max(1, ...run.spans.map((span) => span.end));
    this.view = [0, this.end];
    for (const button of place.querySelectorAll('button')) {
      button.onclick = () => this.zoom(button.dataset.zoom, 0.5);
    }
    this.place.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.fraction(event));
    }, {passive: false});
    this.place.onpointerdown = (event) => { this.held = {x: event.clientX, view: this.view}; };
    window.addEventListener('pointermove', (event) => this.drag(event));
    window.addEventListener('pointerup', () => { this.held = null; });
    window.addEventListener('resize', () => this.draw());
    this.draw();
  }

  get width() { return Math.max(600, this.place.clientWidth) - GUTTER; }
  fraction(event) {
    const left = this.place.getBoundingClientRect().left + GUTTER;
    return Math.min(1, Math.max(0, (event.clientX - left) / this.width));
  }
  x(ns) { return GUTTER + (ns - this.view[0]) / (this.view[1] - this.view[0]) * this.width; }

  zoom(factor, at) {
    if (factor === 'all') {
      this.view = [0, this.end];
    } else {
      const length = this.view[1] - this.view[0], centre = this.view[0] + at * length;
      const next = Math.min(this.end, Math.max(1, length * factor));
      const begin = Math.min(this.end - next, Math.max(0, centre - at * next));
      this.view = [begin, begin + next];
    }
    this.draw();
  }
  drag(event) {
    if (!this.held) return;
    const length = this.held.view[1] - this.held.view[0];
    const moved = (this.held.x - event.clientX) / this.width * length;
    const begin = Math.min(this.end - length, Math.max(0, this.held.view[0] + moved));
    this.view = [begin, begin + length];
    this.draw();
  }

  draw() {
    const height = AXIS + this.rows.length * ROW;
    const svg = shape('svg', {width: GUTTER + this.width, height, role: 'img'});
    this.drawAxis(svg, height);
    this.rows.forEach((row, i) => this.drawRow(svg, row, AXIS + i * ROW));
    this.drawArrows(svg);
    this.place.replaceChildren(svg);
  }

  drawAxis(svg, height) {
    const length = this.view[1] - this.view[0];
    const rough = length / 8, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    for (let at = Math.ceil(this.view[0] / step) * step; at <= this.view[1]; at += step) {
      const x = this.x(at);
      svg.append(shape('line', {class: 'tick', x1: x, x2: x, y1: AXIS, y2: height}),
                 shape('text', {class: 'label', x: x + 3, y: 15}, duration(at)));
    }
  }

  drawRow(svg, row, y) {
    svg.append(shape('line', {class: 'row', x1: 0, x2: GUTTER + this.width, y1: y, y2: y}));
    let drawn = -1;  // pixels that are taken: what is smaller than one is drawn once
    for (const span of row.spans) {
      if (span.end < this.view[0] || span.begin > this.view[1]) continue;
      const left = Math.max(GUTTER, this.x(span.begin));
      const right = Math.min(GUTTER + this.width, Math.max(this.x(span.end), left + 1));
      if (right <= drawn + 0.5) continue;
      drawn = right;
      const look = `span ${span.kind}${isCulprit(span) ? ' culprit' : ''}`;
      const box = shape('rect', {class: look, x: left, y: y + 3, width: right - left,
                                 height: ROW - 6, rx: 2}, hint(this.describe(span)));
      box.onclick = () => { this.details.textContent = this.describe(span); };
      svg.append(box);
      if (right - left > span.name.length * 6.5 + 6) {
        svg.append(shape('text', {class: 'name', x: left + 4, y: y + 15}, span.name));
      }
    }
    svg.append(shape('text', {class: 'label', x: 8, y: y + 15}, row.label));
  }

  describe(span) {
    return `${span.name}  ${span.detail}\n${run.actors[span.actor].name}, ` +
           `${duration(span.begin)} to ${duration(span.end)} (${duration(span.end - span.begin)})`;
  }

  drawArrows(svg) {
    for (const arrow of run.arrows) {
      if (arrow.to_ns < this.view[0] || arrow.from_ns > this.view[1]) continue;
      if (arrow.from === arrow.to) continue;
      const y = (actor) => AXIS + (this.rowOf.get(actor * 1000) ?? 0) * ROW + ROW / 2;
      const clamp = (x) => Math.min(GUTTER + this.width, Math.max(GUTTER, x));
      const x1 = clamp(this.x(arrow.from_ns)), x2 = clamp(this.x(arrow.to_ns));
      const path = shape('path', {class: 'arrow', d: `M${x1},${y(arrow.from)} C${x1 + 20},` +
          `${y(arrow.from)} ${x2 - 20},${y(arrow.to)} ${x2},${y(arrow.to)}`}, hint(arrow.text));
      svg.append(path);
    }
  }
}

// ---- graph

const BOX = {width: 150, height: 36, gap: 46, row: 50};

/// Columns by the longest way from the beginning, a lane for each actor; work of one lane and
/// column is stacked.
function layOut() {
  const rank = run.nodes.map(() => 0);
  for (const edge of run.edges) rank[edge.to] = Math.max(rank[edge.to], rank[edge.from] + 1);
  const slots = new Map();
  const lanes = run.actors.map(() => 0);
  const places = run.nodes.map((node, i) => {
    const key = `${node.actor} ${rank[i]}`;
    const slot = slots.get(key) ?? 0;
    slots.set(key, slot + 1);
    lanes[node.actor] = Math.max(lanes[node.actor], slot + 1);
    return {rank: rank[i], slot};
  });
  const tops = [];
  let y = 10;
  lanes.forEach((rows) => { tops.push(y); y += rows * BOX.row + (rows ? 14 : 0); });
  places.forEach((at, i) => {
    at.x = GUTTER + at.rank * (BOX.width + BOX.gap);
    at.y = tops[run.nodes[i].actor] + at.slot * BOX.row + 8;
  });
  const columns = Math.max(0, ...rank) + 1;
  return {places, lanes, tops, height: y + 10, width: GUTTER + columns * (BOX.width + BOX.gap)};
}

const graph = {boxes: [], lines: [], details: null};

function choose(shapes, text) {
  document.querySelectorAll('.chosen').forEach((each) => each.classList.remove('chosen'));
  shapes.forEach((each) => each.classList.add('chosen'));
  graph.details.textContent = text;
}

function chooseNode(index) {
  const node = run.nodes[index];
  const into = run.edges.map((edge, i) => ({edge, i})).filter(({edge}) => edge.to === index);
  const reasons = into.map(({edge}) => `\n  after ${run.nodes[edge.from].name}: ${edge.how}`);
  choose([graph.boxes[index], ...into.map(({i}) => graph.lines[i])],
         `${node.name}  ${node.detail}\n${run.actors[node.actor].name} ${node.place}, ` +
         `${duration(node.begin)} to ${duration(node.end)}${reasons.join('')}`);
  graph.boxes[index].scrollIntoView({block: 'nearest', inline: 'center'});
}

function drawGraph() {
  const place = section('graph');
  graph.details = place.querySelector('.details');
  place.querySelector('.legend').append(
      element('span', {class: 'key signal'}), ' a signal  ',
      element('span', {class: 'key queue'}), ' the queue\'s own order  ',
      element('span', {class: 'key submission'}), ' the host\'s submission  ',
      element('span', {class: 'hint'}, 'click work or an edge to see what orders it'));
  const {places, lanes, tops, height, width} = layOut();
  const svg = shape('svg', {width, height, role: 'img'});
  svg.append(shape('defs', {}, shape('marker', {id: 'tip', viewBox: '0 0 8 8', refX: 8, refY: 4,
      markerWidth: 7, markerHeight: 7, markerUnits: 'userSpaceOnUse', orient: 'auto'},
      shape('path', {d: 'M0,0 L8,4 L0,8 z', fill: 'context-stroke'}))));
  run.actors.forEach((actor, i) => {
    if (lanes[i] === 0) return;
    svg.append(shape('line', {class: 'row', x1: 0, x2: width, y1: tops[i], y2: tops[i]}),
               shape('text', {class: 'label', x: 8, y: tops[i] + 30}, actor.name));
  });
  graph.lines = run.edges.map((edge) => drawEdge(svg, edge, places));
  graph.boxes = run.nodes.map((node, i) => drawNode(svg, node, i, places[i]));
  place.querySelector('.picture').append(svg);
  const shown = run.edges.slice(0, 1000);
  place.querySelector('table').replaceWith(table(['before', 'after', 'by', 'how'],
      shown.map(({from, to, kind, how}) => [run.nodes[from].name, run.nodes[to].name, kind, how])));
}

function drawEdge(svg, edge, places) {
  const from = places[edge.from], to = places[edge.to];
  const x1 = from.x + BOX.width, y1 = from.y + BOX.height / 2, y2 = to.y + BOX.height / 2;
  const bend = Math.max(20, (to.x - x1) / 2);
  const line = shape('path', {class: `edge ${edge.kind}`, 'marker-end': 'url(#tip)',
      d: `M${x1},${y1} C${x1 + bend},${y1} ${to.x - bend},${y2} ${to.x},${y2}`}, hint(edge.how));
  line.onclick = () => choose([line, graph.boxes[edge.from], graph.boxes[edge.to]],
      `${run.nodes[edge.from].name} before ${run.nodes[edge.to].name}, by ${edge.kind}:\n` +
      `  ${edge.how}`);
  svg.append(line);
  return line;
}

function drawNode(svg, node, index, at) {
  const culprit = run.findings.some((finding) => finding.nodes.includes(index));
  const short = node.name.length > 22 ? `${node.name.slice(0, 21)}…` : node.name;
  const box = shape('g', {class: `node ${node.kind}${culprit ? ' culprit' : ''}`},
      shape('rect', {x: at.x, y: at.y, width: BOX.width, height: BOX.height, rx: 5}),
      shape('text', {x: at.x + 8, y: at.y + 15}, short),
      shape('text', {class: 'label', x: at.x + 8, y: at.y + 29},
            node.kind === 'submission' ? duration(node.begin) : duration(node.end - node.begin)),
      hint(`${node.name}\n${node.detail}\n${node.place}`));
  box.onclick = () => chooseNode(index);
  svg.append(box);
  return box;
}

// ---- kernels

function bars(pairs) {
  const most = Math.max(1, ...pairs.map(([, value]) => value));
  return table(['', 'executed', ''], pairs.map(([name, value]) => [element('code', {}, name), value,
      element('span', {class: 'bar', style: `width: ${120 * value / most}px`})]));
}

function drawKernel(kernel) {
  const card = element('div', {class: 'kernel-card'},
      element('b', {}, kernel.name), ` ${kernel.target}: ${number(kernel.launches)} launches, ` +
      `${number(kernel.workgroups)} workgroups, ${duration(kernel.busy_ns)}`);
  if (!kernel.counted) return card;
  const {lanes, lds} = kernel;
  card.append(element('div', {class: 'columns'},
      element('div', {}, element('h3', {}, `${number(kernel.instructions)} wave-instructions`),
              bars(kernel.units)),
      element('div', {}, element('h3', {}, 'Instruction mix'), bars(kernel.mix.slice(0, 12))),
      element('div', {}, element('h3', {}, 'Memory'),
              table(['', 'accesses', 'bytes', '64-byte lines'], kernel.memory),
              element('p', {}, `${lanes.percent.toFixed(1)} % of lanes on; ` +
                  `${number(lanes.partial)} of ${number(lanes.executions)} vector instructions ` +
                  `with some lanes off, ${number(lanes.idle)} with all off`),
              element('p', {}, `LDS: ${number(lds.accesses)} accesses, ${number(lds.needed)} ` +
                  `cycles, ${number(lds.conflict)} more by bank conflicts`))),
      element('details', {}, element('summary', {}, 'Instructions'),
              table(['pc', 'executed', 'lanes on', 'conflicts', ''], kernel.sites.map(
                  (site) => [`+0x${site[0].toString(16)}`, site[1], site[2], site[3],
                             element('code', {}, site[4])]))));
  return card;
}

drawHead();
drawFindings();
drawGraph();
section('kernels').append(...run.kernels.map(drawKernel));
new Timeline(section('timeline'));
document.body.dataset.ready = 'true';
