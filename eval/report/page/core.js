// What all of the page's script shares. Everything is made of text nodes: no content of a run is
// ever read as markup.

const DASH = "—";
const STAGES = ["list", "schema", "check", "run", "answer"];
const CLASSES = {
  exact: "exact", C: "C: extra columns, valid", A: "A: row count", B: "B: missing columns",
  D: "D: wrong values", "": "not judged",
};

const byId = (id) => document.getElementById(id);

/** Make an element. Children are elements or text; null and "" are left out. */
const make = (tag, css, ...children) => {
  const element = document.createElement(tag);
  if (css) element.className = css;
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
};

/** Three significant digits, as the tables have them; a dash for what is undefined. */
const number = (value) => {
  if (value === null || value === undefined) return DASH;
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -6) return value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2");
  const decimals = Math.max(0, 2 - size);
  return value.toLocaleString("en-US", {
    minimumFractionDigits: decimals, maximumFractionDigits: decimals,
  });
};
const count = (value) => (value === null || value === undefined ? DASH : value.toLocaleString("en-US"));
const dollars = (value) => (value === null || value === undefined ? DASH : "$" + number(value));
const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
const bytes = (value) => {
  if (value === null || value === undefined) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${unit ? number(value) : count(value)} ${units[unit]}`;
};
const words = (name) => name.replaceAll("_", " ");
const stageClass = (name) => `stage-${name}`;

/** A table of the drill-down: the first column to the left, numbers to the right. */
const plainTable = (heads, rows, css = "") => {
  const cells = (tag, values) => values.map((value, i) => {
    const cell = make(tag, i ? "right" : "left");
    cell.append(value ?? DASH);
    return cell;
  });
  return make("div", "wraps", make("table", css,
    make("thead", "", make("tr", "", ...cells("th", heads))),
    make("tbody", "", ...rows.map((row) => make("tr", "", ...cells("td", row))))));
};

/** Dark, light, or as the system has it, kept for the next time where that is possible. */
const startTheme = () => {
  const button = byId("theme");
  const themes = ["system", "dark", "light"];
  let theme = "system";
  try { theme = localStorage.getItem("bothends-theme") ?? theme; } catch { /* kept nowhere */ }
  const show = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("bothends-theme", theme); } catch { /* kept nowhere */ }
    show();
  });
  if (!themes.includes(theme)) theme = "system";
  show();
};
