/* ---- timelines: lanes of states that can be zoomed, and read by pointer and by keyboard */
const SVG = "http://www.w3.org/2000/svg";
const HOUR = 3600000;
const NICE_HOURS = [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 2184, 4368];
const LEAST_BUCKETS = 12;

const shape = (kind, d) => {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("class", kind);
  path.setAttribute("d", d);
  return path;
};

const makeLanes = (block, data) => {
  const find = (selector) => block.querySelector(selector);
  const [names, frame, picture, axis, tip] = [".names", ".lanes", ".lanes svg", ".axis", ".tip"].map(find);
  const [output, more] = [find("output"), find(".more")];
  const row = Number(block.dataset.row);
  const bar = Number(block.dataset.bar);
  const start = Date.parse(data.start);
  const limit = Number(block.dataset.limit) || Infinity;
  let [from, to] = [0, data.width];
  let cursor = null;
  let isWhole = false;
  let lanes = [];

  const choose = () => {
    const fitting = data.lanes.filter((lane, index) => fits(data.facets, index));
    lanes = isWhole ? fitting : fitting.slice(0, limit);
    if (more) more.hidden = lanes.length === fitting.length;
    cursor = null;
    tip.hidden = true;
  };
  const width = () => picture.clientWidth || 800;
  const x = (bucket) => ((bucket - from) / (to - from)) * width();
  const time = (bucket) => start + bucket * data.bucket;

  /* Each state is one path over all lanes; on a job's lane stand its attempts, checkpoints and ends. */
  const draw = () => {
    const paths = new Map();
    const add = (kind, d) => paths.set(kind, (paths.get(kind) ?? "") + d);
    lanes.forEach((lane, index) => {
      const y = index * row;
      for (let at = Math.floor(from); at < to; ) {
        let end = at + 1;
        while (end < to && lane.cells[end] === lane.cells[at]) end += 1;
        const group = data.groups[lane.cells[at]];
        const left = Math.max(0, x(at));
        if (group) add(`state state-${group[0]}`, `M${left.toFixed(1)} ${y}H${Math.min(width(), x(end)).toFixed(1)}v${bar}H${left.toFixed(1)}z`);
        at = end;
      }
      for (const [, begin, , , saved] of lane.attempts ?? []) {
        if (begin > from && begin < to) add("begin", `M${x(begin).toFixed(1)} ${y}v${bar}`);
        for (const bucket of saved) if (bucket >= from && bucket < to) add("saved", `M${x(bucket + 0.5).toFixed(1)} ${y + bar + 2}v4`);
      }
      for (const [bucket] of lane.ends ?? []) {
        if (bucket >= from && bucket < to) add("end", `M${x(bucket).toFixed(1)} ${y + 3}l4 8h-8z`);
      }
    });
    const height = Math.max(1, lanes.length * row - 3);
    picture.setAttribute("viewBox", `0 0 ${width()} ${height}`);
    picture.setAttribute("height", height);
    picture.replaceChildren(...[...paths].map(([kind, d]) => shape(kind, d)));
    if (cursor) picture.append(shape("cursor", `M${x(cursor.bucket + 0.5).toFixed(1)} ${cursor.lane * row - 1}v${bar + 2}`));
    names.replaceChildren(...lanes.map((lane) => make("li", { title: lane.name }, make("bdi", {}, lane.name))));
    drawAxis();
    output.textContent = to - from < data.width ? `${instant(time(from))} – ${instant(time(to))} UTC` : "";
  };
  const drawAxis = () => {
    const span = ((to - from) * data.bucket) / HOUR;
    const step = (NICE_HOURS.find((nice) => span / nice <= 8) ?? span) * HOUR;
    const marks = [];
    for (let at = Math.ceil(time(from) / step) * step; at < time(to); at += step) {
      const mark = make("span", {}, step >= 24 * HOUR ? day(new Date(at)) : instant(at));
      mark.style.left = `${(100 * (at - time(from))) / (time(to) - time(from))}%`;
      marks.push(mark);
    }
    axis.replaceChildren(...marks);
  };
  const zoom = (first, last) => {
    const span = Math.min(data.width, Math.max(LEAST_BUCKETS, Math.round(last - first)));
    from = Math.min(data.width - span, Math.max(0, Math.round(first)));
    to = from + span;
    draw();
  };
  const middle = () => (cursor ? cursor.bucket + 0.5 : (from + to) / 2);
  const scale = (factor) => zoom(middle() - ((to - from) * factor) / 2, middle() + ((to - from) * factor) / 2);
  const move = (share) => zoom(from + (to - from) * share, to + (to - from) * share);

  /* ---- what a place of the picture says */
  const describe = (index, bucket, reach) => {
    const lane = lanes[index];
    if (!lane) return null;
    const group = data.groups[lane.cells[Math.floor(bucket)]];
    const lines = [`${lane.name} · ${instant(time(Math.floor(bucket)))} UTC · ${group ? group[1] : "nothing"}`];
    for (const [, begin, end, said] of lane.attempts ?? []) {
      if (begin <= bucket + 1 && bucket < (end ?? Infinity)) lines.push(said);
    }
    for (const [at, said] of lane.ends ?? []) if (Math.abs(at - bucket) <= reach) lines.push(said);
    return lines;
  };
  const showTip = (lines, left, top) => {
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines.map((line) => make("span", {}, make("bdi", {}, line))));
    tip.style.left = `${Math.max(0, Math.min(left + 12, width() - tip.offsetWidth))}px`;
    tip.style.top = `${top + 16}px`;
  };
  const point = (event) => {
    const box = picture.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    return { left, top, index: Math.floor(top / row), bucket: from + (left / box.width) * (to - from) };
  };
  const reach = () => (5 / width()) * (to - from);

  /* ---- pointer: hover tells, dragging zooms */
  let drag = null;
  const band = find(".band");
  picture.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return;
    drag = point(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    const at = point(event);
    if (!drag) {
      showTip(describe(at.index, Math.max(from, Math.min(to - 0.01, at.bucket)), reach()), at.left, at.top);
      return;
    }
    tip.hidden = true;
    band.hidden = false;
    band.style.left = `${Math.min(drag.left, at.left)}px`;
    band.style.width = `${Math.abs(at.left - drag.left)}px`;
  });
  const drop = (event) => {
    const begun = drag;
    drag = null;
    band.hidden = true;
    const at = point(event);
    if (begun && Math.abs(at.left - begun.left) > 6) zoom(Math.min(begun.bucket, at.bucket), Math.max(begun.bucket, at.bucket));
  };
  picture.addEventListener("pointerup", drop);
  picture.addEventListener("pointercancel", () => { drag = null; band.hidden = true; });
  picture.addEventListener("pointerleave", () => { if (!drag) tip.hidden = true; });

  /* ---- keyboard: arrows move a cursor over the cells, plus and minus zoom, 0 shows all */
  const step = (lane, bucket) => {
    const before = cursor ?? { lane: 0, bucket: Math.floor(from) - (bucket > 0 ? 1 : 0) };
    cursor = {
      lane: Math.max(0, Math.min(lanes.length - 1, before.lane + lane)),
      bucket: Math.max(0, Math.min(data.width - 1, before.bucket + bucket)),
    };
    if (cursor.bucket < from || cursor.bucket >= to) zoom(cursor.bucket - (to - from) / 2, cursor.bucket + (to - from) / 2);
    else draw();
    const lines = describe(cursor.lane, cursor.bucket, 1);
    showTip(lines, x(cursor.bucket + 0.5), cursor.lane * row);
    if (lines) say(lines.join(". "));
  };
  const keys = {
    ArrowLeft: (event) => step(0, event.shiftKey ? -16 : -1),
    ArrowRight: (event) => step(0, event.shiftKey ? 16 : 1),
    ArrowUp: () => step(-1, 0),
    ArrowDown: () => step(1, 0),
    "+": () => scale(1 / 2),
    "=": () => scale(1 / 2),
    "-": () => scale(2),
    0: () => zoom(0, data.width),
    Escape: () => { tip.hidden = true; },
  };
  frame.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key](event);
  });
  frame.addEventListener("blur", () => { tip.hidden = true; });

  const actions = { in: () => scale(1 / 2), out: () => scale(2), left: () => move(-0.5), right: () => move(0.5), all: () => zoom(0, data.width) };
  block.querySelectorAll("button[data-zoom]").forEach((button) => {
    button.addEventListener("click", actions[button.dataset.zoom]);
  });
  more?.addEventListener("click", () => {
    isWhole = true;
    choose();
    draw();
  });
  find(".zoom").hidden = false;
  onChoice(() => { choose(); draw(); });
  addEventListener("resize", draw);
  choose();
  draw();
  block.dataset.ready = "1";
};

/* They come alive when the browser has nothing better to do. */
requestIdleCallback(async () => {
  const data = await unpack("lanes");
  document.querySelectorAll(".lanes-block").forEach((block) => makeLanes(block, data[block.dataset.lanes]));
}, { timeout: 2000 });
