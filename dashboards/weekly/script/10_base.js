/* What all parts share. The page is readable without script; script adds charts, sorting, filters. */
const root = document.documentElement;
const byId = (id) => document.getElementById(id);
const say = (text) => { byId("status").textContent = text; };

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element[key] = value;
  element.append(...children);
  return element;
};

/* ---- what is large lies in the page as base64 of gzip, and is unpacked when it is asked for */
const unpacked = {};
const unpackText = async (id) => {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};
const unpack = (id) => {
  unpacked[id] ??= unpackText(id).then(JSON.parse);
  return unpacked[id];
};

/* ---- numbers and times, as the page was written */
const dash = "–";
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const fixed = (value, digits) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

const percent = (value, digits) => {
  const text = (100 * value).toFixed(digits);
  return `${value < 1 && Number(text) >= 100 ? (100 - 10 ** -digits).toFixed(digits) : text}%`;
};

const two = (number) => String(number).padStart(2, "0");
const day = (moment) => `${days[moment.getUTCDay()]} ${moment.getUTCDate()} ${months[moment.getUTCMonth()]}`;
const instant = (value) => {
  const moment = new Date(value);
  return `${moment.getUTCDate()} ${months[moment.getUTCMonth()]} ${two(moment.getUTCHours())}:${two(moment.getUTCMinutes())}`;
};

const decimals = Number(document.body.dataset.decimals);
const hours = (value) => fixed(value, decimals);

/* Amounts rounded so that they add up to what their sum is rounded to. */
const roundedInSum = (amounts) => {
  const scale = 10 ** decimals;
  let exact = 0;
  let shown = 0;
  return amounts.map((amount) => {
    exact += amount;
    const next = Math.round(exact * scale);
    const part = (next - shown) / scale;
    shown = next;
    return part;
  });
};

/* ---- commands */
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text });
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
