// A table of any length: only the rows in view are in the document.

const ROW = 34; // pixels, as --row has them
const SPARE = 12; // rows drawn beyond the view, so that a quick scroll shows no gap

/**
 * Make a grid in a host element.
 *
 * columns: heading, unit, help, align, width (of a CSS grid), cell(row) -> text or element, and
 * value(row) for sorting, null last. open(row) is called for a click or Enter; sorted(key) when a
 * heading changes the order. Rows are whatever set() is given.
 */
const makeGrid = (host, title, columns, { open = null, sorted = null, css = "" } = {}) => {
  const view = make("div", "grid-view");
  const body = make("div", "grid-body");
  const head = make("div", "grid-row grid-head");
  const id = `grid-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  const template = columns.map((column) => column.width).join(" ");
  let rows = [];
  let order = null; // { key, down }
  let active = 0;
  let given = [];

  host.className = `grid ${css}`;
  host.style.setProperty("--columns", template);
  view.tabIndex = 0;
  view.setAttribute("role", "grid");
  view.setAttribute("aria-label", title);
  head.setAttribute("role", "row");
  body.setAttribute("role", "rowgroup");
  const heads = columns.map((column) => {
    const cell = make(column.value ? "button" : "span", `cell ${column.align ?? "left"}`,
      make("span", "", column.heading), column.unit ? make("span", "unit", column.unit) : "");
    if (column.value) {
      cell.type = "button";
      cell.addEventListener("click", () => {
        const down = order?.key === column.key ? !order.down : column.align === "right";
        order = { key: column.key, down };
        arrange();
        sorted?.(order);
      });
    }
    if (column.help) cell.dataset.help = column.help;
    const wrap = make("div", "grid-heading", cell);
    wrap.setAttribute("role", "columnheader");
    return wrap;
  });
  head.append(...heads);
  view.append(head, body);
  host.replaceChildren(view);

  const drawRow = (place) => {
    const row = make("div", `grid-row${place === active ? " active" : ""}${place % 2 ? "" : " even"}`);
    row.id = `${id}-${place}`;
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", place + 2);
    row.style.top = `${place * ROW}px`;
    for (const column of columns) {
      const cell = make("div", `cell ${column.align ?? "left"}`);
      cell.setAttribute("role", "gridcell");
      cell.append(column.cell(rows[place]) ?? DASH);
      if (cell.textContent) cell.title = cell.textContent; // it may be cut
      row.append(cell);
    }
    if (open) row.addEventListener("click", () => { active = place; draw(); open(rows[place]); });
    return row;
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(view.scrollTop / ROW) - SPARE);
    const last = Math.min(rows.length, first + Math.ceil(view.clientHeight / ROW) + 2 * SPARE);
    const drawn = [];
    for (let place = first; place < last; place += 1) drawn.push(drawRow(place));
    body.replaceChildren(...drawn);
    if (rows.length) view.setAttribute("aria-activedescendant", `${id}-${active}`);
  };
  const arrange = () => {
    const column = order && columns.find((each) => each.key === order.key);
    rows = [...given];
    if (column) {
      const sign = order.down ? -1 : 1;
      const keyed = rows.map((row, place) => [column.value(row), place, row]);
      keyed.sort(([a, i], [b, j]) => {
        if (a === b) return i - j;
        if (a === null || a === undefined) return 1; // what is undefined comes last either way
        if (b === null || b === undefined) return -1;
        return typeof a === "string" ? sign * a.localeCompare(b, "en", { numeric: true }) : sign * (a - b);
      });
      rows = keyed.map(([, , row]) => row);
    }
    heads.forEach((wrap, i) => {
      const on = column === columns[i];
      wrap.setAttribute("aria-sort", on ? (order.down ? "descending" : "ascending") : "none");
    });
    active = Math.min(active, Math.max(0, rows.length - 1));
    body.style.height = `${rows.length * ROW}px`;
    view.setAttribute("aria-rowcount", rows.length + 1);
    draw();
  };
  const move = (to) => {
    active = Math.max(0, Math.min(rows.length - 1, to));
    const top = active * ROW;
    const room = view.clientHeight - head.offsetHeight;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + ROW > view.scrollTop + room) view.scrollTop = top + ROW - room;
    draw();
  };

  let waiting = false;
  view.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  view.addEventListener("keydown", (event) => {
    if (event.target !== view || !rows.length) return;
    const page = Math.max(1, Math.floor(view.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) move(active + steps[event.key]);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(rows.length - 1);
    else if (event.key === "Enter" && open) open(rows[active]);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(view);

  return {
    /** Show these rows, in the order of the last heading that was pressed. */
    set: (some, by = order) => { given = some; order = by; arrange(); },
    /** The row before or after another one, as they are shown; null at the end. */
    beside: (row, step) => rows[rows.indexOf(row) + step] ?? null,
    place: (row) => rows.indexOf(row),
    show: (row) => { if (rows.includes(row)) move(rows.indexOf(row)); },
    focus: () => view.focus({ preventScroll: true }),
    shown: () => rows,
  };
};
