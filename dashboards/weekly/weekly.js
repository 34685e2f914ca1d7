"use strict";
/* Charts, sorting and filtering of tables, copying of commands. The page is readable without it. */
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const say = (text) => { byId("status").textContent = text; };

  /* ---- what is large lies in the page as base64 of gzip */
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  /* ---- charts: figures name colours as CSS variables, so one figure serves light, dark and paper */
  const figures = JSON.parse(byId("figures").textContent);
  const variable = /^var\((--[\w-]+)\)$/;

  const resolve = (value, styles) => {
    if (typeof value === "string") {
      const match = variable.exec(value);
      return match ? styles.getPropertyValue(match[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => resolve(item, styles));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item, styles)]));
    }
    return value;
  };

  const draw = (element) => {
    const figure = resolve(figures[element.dataset.figure], getComputedStyle(root));
    Plotly.react(element, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  };

  const charts = document.querySelectorAll(".chart");
  unpack("plotly").then((library) => {
    const script = document.createElement("script");
    script.textContent = library;
    document.head.append(script);
    charts.forEach(draw);
    const redraw = () => charts.forEach(draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("beforeprint", redraw);
    addEventListener("afterprint", redraw);
  });
  addEventListener("beforeprint", () => root.classList.add("printing"));
  addEventListener("afterprint", () => root.classList.remove("printing"));

  /* ---- commands */
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("Copied");
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    copy(button.dataset.copy);
    const label = button.firstChild;
    label.data = "Copied";
    setTimeout(() => { label.data = "Copy"; }, 1200);
  });

  /* ---- tables: the first rows are in the page, all of them packed beside it */
  const PAGE = 100;
  const dash = "–";
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

  const fixed = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

  const percent = (value, digits) => {
    const text = (100 * value).toFixed(digits);
    return `${value < 1 && Number(text) >= 100 ? (100 - 10 ** -digits).toFixed(digits) : text}%`;
  };

  const instant = (value) => {
    const moment = new Date(value);
    const two = (number) => String(number).padStart(2, "0");
    return `${moment.getUTCDate()} ${months[moment.getUTCMonth()]} ${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}`;
  };

  const write = {
    hours: (value, digits) => fixed(value, digits),
    count: (value) => fixed(value, 0),
    percent: (value, digits) => percent(value, digits),
    time: (value) => instant(value),
    text: (value) => value,
    words: (value) => value,
  };
  const isText = (kind) => kind === "text" || kind === "words";

  const makeCell = ([kind, digits], value) => {
    const cell = document.createElement("td");
    if (kind === "command") {
      if (value !== null) {
        const button = document.createElement("button");
        button.type = "button";
        button.title = value;
        button.dataset.copy = value;
        button.append("Copy");
        const hidden = document.createElement("span");
        hidden.className = "hidden";
        hidden.textContent = ` ${value}`;
        button.append(hidden);
        cell.append(button);
      }
      return cell;
    }
    const text = value === null ? dash : write[kind](value, digits);
    cell.className = isText(kind) ? "text" : "number";
    if (isText(kind)) {
      if (kind === "text") {
        cell.classList.add("name");
        cell.title = text;
      }
      const isolated = document.createElement("bdi");
      isolated.textContent = text;
      cell.append(isolated);
    } else {
      cell.textContent = text;
    }
    return cell;
  };

  const compare = (values, direction) => (a, b) => {
    const [left, right] = [values[a], values[b]];
    if (left === right) return a - b;
    if (left === null) return 1;
    if (right === null) return -1;
    const order = typeof left === "string" ? left.localeCompare(right, "en", { numeric: true }) : left - right;
    return direction * order || a - b;
  };

  const enhance = (grid) => {
    const count = Number(grid.dataset.count);
    const body = grid.querySelector("tbody");
    const tools = grid.querySelector(".tools");
    const output = tools.querySelector("output");
    const filter = tools.querySelector("input");
    const more = grid.querySelector(".more");
    const heads = [...grid.querySelectorAll("thead th")];
    let data = null;
    let order = [];
    let shown = 0;
    let sorted = null;

    const load = async () => {
      data ??= JSON.parse(await unpack(grid.dataset.packed));
      return data;
    };
    const append = () => {
      const next = order.slice(shown, shown + PAGE);
      const rows = document.createDocumentFragment();
      for (const index of next) {
        const row = document.createElement("tr");
        data.columns.forEach((column, place) => row.append(makeCell(column, data.values[place][index])));
        rows.append(row);
      }
      body.append(rows);
      shown += next.length;
      if (more) {
        more.querySelector("button").hidden = shown >= order.length;
        more.querySelector("span").textContent = `${shown.toLocaleString("en-US")} of ${order.length.toLocaleString("en-US")} rows.`;
      }
    };
    const refresh = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const texts = data.columns.flatMap(([kind], place) => (isText(kind) ? [data.values[place]] : []));
      order = [...Array(count).keys()].filter((index) => {
        const line = texts.map((values) => values[index]).join(" ").toLowerCase();
        return words.every((word) => line.includes(word));
      });
      if (sorted) order.sort(compare(data.values[sorted.place], sorted.direction));
      output.textContent = words.length ? `${order.length.toLocaleString("en-US")} of ${count.toLocaleString("en-US")} rows` : `${count.toLocaleString("en-US")} rows`;
      shown = 0;
      body.replaceChildren();
      append();
    };
    const sort = async (place) => {
      const [kind] = (await load()).columns[place];
      const first = isText(kind) || kind === "time" ? 1 : -1;
      const direction = sorted?.place === place ? -sorted.direction : first;
      sorted = { place, direction };
      heads.forEach((head, index) => {
        if (index === place) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      });
      refresh();
      say(`Sorted by ${heads[place].textContent}, ${direction > 0 ? "ascending" : "descending"}`);
    };

    if (!count) return;
    tools.hidden = false;
    heads.forEach((head, place) => {
      if (head.textContent === "Explain") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(place));
      head.append(button);
    });
    let timer = 0;
    filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => load().then(refresh), 120);
    });
    if (more) {
      const button = more.querySelector("button");
      button.hidden = false;
      button.addEventListener("click", async () => {
        await load();
        if (shown) append();
        else refresh();
      });
    }
  };
  document.querySelectorAll(".grid").forEach(enhance);

  /* ---- fleet timeline: what is under the pointer */
  const fleet = document.querySelector(".fleet");
  const lanes = fleet.querySelector(".lanes");
  const picture = lanes.querySelector("svg");
  const tip = lanes.querySelector(".tip");
  const names = [...fleet.querySelectorAll(".names li")];
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const node = names[Math.floor((event.clientY - box.top) / Number(fleet.dataset.row))];
    const label = event.target.dataset?.label;
    tip.hidden = !node || !label;
    if (tip.hidden) return;
    const bucket = Math.floor(((event.clientX - box.left) / box.width) * Number(fleet.dataset.width));
    const moment = new Date(Date.parse(fleet.dataset.start) + bucket * Number(fleet.dataset.bucket));
    tip.textContent = `${node.textContent} · ${instant(moment)} UTC · ${label}`;
    const x = event.clientX - box.left;
    tip.style.left = `${Math.max(0, Math.min(x + 12, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  });
  picture.addEventListener("pointerleave", () => { tip.hidden = true; });
})();
