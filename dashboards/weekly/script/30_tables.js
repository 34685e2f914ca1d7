/* ---- tables: the first rows are in the page, all of them packed beside it */
const rowsOf = (number) => `${fixed(number, 0)} ${number === 1 ? "row" : "rows"}`;
const PAGE = 100;

const write = {
  hours: (value, digits) => fixed(value, digits),
  count: (value) => fixed(value, 0),
  percent: (value, digits) => percent(value, digits),
  time: (value) => instant(value),
  text: (value) => value,
  words: (value) => value,
};
const isText = (kind) => kind === "text" || kind === "words";

const makeCommand = (value) => {
  const button = make("button", { type: "button", title: value }, "Copy");
  button.dataset.copy = value;
  button.append(make("span", { className: "hidden" }, ` ${value}`));
  return button;
};

const makeCell = ([kind, digits], value) => {
  const cell = make("td");
  if (kind === "command") {
    if (value !== null) cell.append(makeCommand(value));
    return cell;
  }
  const text = value === null ? dash : write[kind](value, digits);
  cell.className = isText(kind) ? "text" : "number";
  if (kind === "text") {
    cell.classList.add("name");
    cell.title = text;
  }
  cell.append(isText(kind) ? make("bdi", {}, text) : text);
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

/* Makes the heads of a table into buttons; `sort(place, direction)` is called by them. */
const sortByHeads = (heads, firstDirection, sort) => {
  let sorted = null;
  heads.forEach((head, place) => {
    if (head.dataset.plain !== undefined) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    button.addEventListener("click", async () => {
      const direction = sorted?.place === place ? -sorted.direction : await firstDirection(place);
      sorted = { place, direction };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sort(place, direction);
      say(`Sorted by ${head.textContent}, ${direction > 0 ? "ascending" : "descending"}`);
    });
    head.append(button);
  });
};

const enhance = (grid) => {
  const count = Number(grid.dataset.count);
  if (!count) return;
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
    data ??= await unpack(grid.dataset.packed);
    return data;
  };
  const append = () => {
    const next = order.slice(shown, shown + PAGE);
    const rows = document.createDocumentFragment();
    for (const index of next) {
      const row = make("tr");
      data.columns.forEach((column, place) => row.append(makeCell(column, data.values[place][index])));
      rows.append(row);
    }
    body.append(rows);
    shown += next.length;
    if (more) {
      more.querySelector("button").hidden = shown >= order.length;
      more.querySelector("span").textContent = `${fixed(shown, 0)} of ${rowsOf(order.length)}.`;
    }
  };
  const refresh = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = data.columns.flatMap(([kind], place) => (isText(kind) ? [data.values[place]] : []));
    order = [...Array(count).keys()].filter((index) => {
      if (!fits(data.facets, index)) return false;
      if (!words.length) return true;
      const line = texts.map((values) => values[index]).join(" ").toLowerCase();
      return words.every((word) => line.includes(word));
    });
    if (sorted) order.sort(compare(data.values[sorted.place], sorted.direction));
    output.textContent = order.length < count ? `${fixed(order.length, 0)} of ${rowsOf(count)}` : rowsOf(count);
    shown = 0;
    body.replaceChildren();
    append();
  };

  tools.hidden = false;
  sortByHeads(
    heads,
    async (place) => {
      const [kind] = (await load()).columns[place];
      return isText(kind) || kind === "time" ? 1 : -1;
    },
    (place, direction) => {
      sorted = { place, direction };
      refresh();
    },
  );
  let timer = 0;
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => load().then(refresh), 120);
  });
  onChoice(() => load().then(refresh));
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

/* ---- small tables are whole in the page: their rows are moved */
const valueOf = (cell) => {
  if (!cell?.classList.contains("number")) return cell?.textContent.trim() || null;
  const number = Number.parseFloat(cell.textContent.replace(/[,$]/g, ""));
  return Number.isNaN(number) ? null : number;
};
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  sortByHeads(
    [...table.querySelectorAll("thead th")],
    (place) => (body.rows[0]?.cells[place].classList.contains("number") ? -1 : 1),
    (place, direction) => {
      const rows = [...body.rows];
      const values = rows.map((row) => valueOf(row.cells[place]));
      const order = [...rows.keys()].sort(compare(values, direction));
      body.append(...order.map((index) => rows[index]));
    },
  );
});

/* ---- the interruptions in full: those of the choice */
onChoice(async () => {
  const incidents = document.querySelectorAll(".incident");
  if (!incidents.length) return;
  const { facets } = await unpack("interruptions-rows");
  incidents.forEach((incident, index) => { incident.hidden = !fits(facets, index); });
});
