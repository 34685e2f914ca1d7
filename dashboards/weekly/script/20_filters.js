/* ---- one choice of team, namespace, pool and class for the whole page */
const choice = { team: "", namespace: "", pool: "", class: "" };
const followers = [];
const onChoice = (follow) => followers.push(follow);
const isChosen = () => Object.values(choice).some(Boolean);

/* Whether row `index` of a table fits the choice; a facet that the table does not have fits. */
const fits = (facets, index) =>
  Object.entries(choice).every(([name, value]) => !value || !facets[name] || facets[name][index].includes(value));

/* Rows of the paid time that fit the choice, and the sum of some of them. */
const chosenSlices = async ({ byClass }) => {
  const { keys, rows } = await unpack("slices");
  const tests = keys.map((key) => (key in choice && (byClass || key !== "class") ? choice[key] : ""));
  return rows
    .filter((row) => tests.every((value, place) => !value || row[place] === value))
    .map((row) => ({ ...Object.fromEntries(keys.map((key, place) => [key, row[place]])), hours: row[keys.length] }));
};
const total = (rows) => rows.reduce((sum, row) => sum + row.hours, 0);
const baseline = "base.overhead";

(() => {
  const form = byId("filters");
  if (!form) return;
  const output = form.querySelector("output");
  const selects = [...form.querySelectorAll("select")];

  const describe = async () => {
    const all = await chosenSlices({ byClass: false });
    const lost = (await chosenSlices({ byClass: true })).filter((row) => row.class && row.class !== baseline);
    const held = total(all);
    const productive = total(all.filter((row) => row.state_group === "productive"));
    const parts = [`${hours(held)} GPU-hours`];
    if (held) parts.push(`${percent(productive / held, 1)} productive`);
    parts.push(`${hours(total(lost))} lost`);
    return parts.join(" · ");
  };
  const follow = async () => {
    for (const select of selects) choice[select.name] = select.value;
    form.classList.toggle("chosen", isChosen());
    document.body.classList.toggle("chosen", isChosen());
    form.querySelector("button").hidden = !isChosen();
    await Promise.all(followers.map((one) => one()));
    output.textContent = isChosen() ? await describe() : "";
    form.dataset.done = JSON.stringify(choice);
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", follow);
  form.querySelector("button").addEventListener("click", () => {
    for (const select of selects) select.value = "";
    follow();
    selects[0].focus();
  });

  /* A number that is made of rows leads to them: the link narrows the page to its class. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-class]");
    const select = selects.find((one) => one.name === "class");
    if (!link || !select) return;
    select.value = link.dataset.class;
    follow();
  });
})();
