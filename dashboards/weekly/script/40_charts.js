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

/* What stands in for a figure while something is chosen. */
const narrowed = {};
const draw = (element) => {
  const name = element.dataset.figure;
  const figure = resolve(narrowed[name] ?? figures[name], getComputedStyle(root));
  Plotly.react(element, figure.data, figure.layout, { displayModeBar: false, responsive: true });
};
const charts = [...document.querySelectorAll(".chart")];
const redraw = () => { if (window.Plotly) charts.forEach(draw); };

addEventListener("beforeprint", () => root.classList.add("printing"));
addEventListener("afterprint", () => root.classList.remove("printing"));
/* The text comes first; the library waits until it is painted. */
requestAnimationFrame(() => setTimeout(async () => {
  const script = make("script", { textContent: await unpackText("plotly") });
  document.head.append(script);
  redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", redraw);
  addEventListener("afterprint", redraw);
}));

/* ---- the bars of the choice */
const sumsBy = (rows, key) => {
  const sums = new Map();
  for (const row of rows) sums.set(row[key], (sums.get(row[key]) ?? 0) + row.hours);
  return sums;
};

const narrowWaterfall = (rows) => {
  const figure = structuredClone(figures.waterfall);
  const [bars] = figure.data;
  const sums = sumsBy(rows, "state_group");
  const steps = bars.customdata.slice(1);
  const shown = roundedInSum(steps.map((key) => sums.get(key) ?? 0));
  const all = shown.reduce((sum, part) => sum + part, 0);
  let left = all;
  bars.x = [all, ...shown];
  bars.y[0] = "Chosen";
  bars.base = [0, ...steps.map((key, index) => {
    if (key !== "productive") left -= shown[index];
    return key === "productive" ? 0 : left;
  })];
  bars.text = [hours(all), ...shown.map((part, index) => (steps[index] === "productive" ? hours(part) : part ? `−${hours(part)}` : ""))];
  figure.layout.xaxis.range = [0, all || 1];
  return { figure, shown: new Map(steps.map((key, index) => [key, shown[index]])), all };
};

const narrowClasses = (lost) => {
  const figure = structuredClone(figures.classes);
  const [bars] = figure.data;
  const sums = sumsBy(lost, "class");
  bars.x = bars.customdata.map((key) => sums.get(key) ?? 0);
  bars.text = bars.x.map(hours);
  figure.layout.xaxis.range = [0, Math.max(...bars.x) || 1];
  return figure;
};

/* Cells that were written by the page keep what they said, for when nothing is chosen. */
const rewrite = (cell, text) => {
  cell.dataset.whole ??= cell.textContent;
  cell.textContent = text ?? cell.dataset.whole;
};

const narrowWaterfallTable = (found) => {
  document.querySelectorAll("#waterfall-table tr.member").forEach((row) => { row.hidden = Boolean(found); });
  document.querySelectorAll("#waterfall-table tr[data-group]").forEach((row) => {
    const part = found?.shown.get(row.dataset.group) ?? 0;
    rewrite(row.cells[1], found && hours(part));
    rewrite(row.cells[2], found && percent(found.all ? part / found.all : 0, 1));
  });
  rewrite(byId("waterfall-sum"), found && hours(found.all));
};

const countByClass = (facets) => {
  const counts = new Map();
  facets.class.forEach((classes, index) => {
    if (fits(facets, index)) for (const name of classes) counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  return counts;
};

const narrowClassTables = (lost, counts) => {
  const sums = lost && sumsBy(lost, "class");
  document.querySelectorAll("#causes tr[data-class]").forEach((row) => {
    const sum = sums?.get(row.dataset.class) ?? 0;
    row.hidden = Boolean(sums) && !sum;
    row.querySelectorAll("[data-hours]").forEach((cell) => rewrite(cell, sums && hours(sum)));
    row.querySelectorAll("[data-count]").forEach((link) => {
      rewrite(link, counts && fixed(counts[link.dataset.count].get(row.dataset.class) ?? 0, 0));
    });
    row.querySelectorAll("[data-other]").forEach((cell) => rewrite(cell, sums && dash));
    row.querySelectorAll("[data-group]").forEach((cell) => {
      const part = total((lost ?? []).filter((one) => one.class === row.dataset.class && one.state_group === cell.dataset.group));
      rewrite(cell, sums && (part ? hours(part) : ""));
    });
  });
  document.querySelectorAll("#causes [data-total]").forEach((cell) => rewrite(cell, lost && hours(total(lost))));
  document.querySelectorAll("#causes tfoot [data-other]").forEach((cell) => rewrite(cell, lost && dash));
};

onChoice(async () => {
  const chosen = isChosen();
  const lost = chosen ? (await chosenSlices({ byClass: true })).filter((row) => row.class) : null;
  const found = chosen ? narrowWaterfall(await chosenSlices({ byClass: false })) : null;
  narrowed.waterfall = found?.figure;
  narrowed.classes = figures.classes && lost ? narrowClasses(lost) : undefined;
  narrowWaterfallTable(found);
  const counts = {};
  for (const name of ["jobs", "interruptions"]) counts[name] = countByClass((await unpack(`${name}-rows`)).facets);
  narrowClassTables(lost, chosen ? counts : null);
  redraw();
});
