// The list of trials: filtered, sorted, drawn as it scrolls, and one of them opened. The address's
// hash holds all of that, so that a link leads back to it.

const FILTERS = ["model", "scale", "question", "status", "class"];

const trialColumns = (data) => {
  const { columns, help } = data;
  const several = new Set(data.configs.map((config) => config.scale)).size > 1;
  const figure = (key, heading, unit, help, width = "106px") => ({
    key, heading, unit, help, align: "right", width,
    value: (trial) => columns[key][trial], cell: (trial) => number(columns[key][trial]),
  });
  return [
    {
      key: "model", heading: "Model", width: "minmax(130px, 1.3fr)",
      value: (trial) => data.configOf(trial).label,
      cell: (trial) => make("b", "", data.configOf(trial).label, make("span", "mark", data.configOf(trial).signs)),
    },
    several ? {
      key: "scale", heading: "SF", align: "right", width: "64px", help: help.scale_factor,
      value: (trial) => data.configOf(trial).scale,
      cell: (trial) => `${data.configOf(trial).scale ?? DASH}`,
    } : null,
    {
      key: "question", heading: "Question", width: "minmax(130px, 1.6fr)",
      value: (trial) => data.goldOf(trial).id,
      cell: (trial) => make("span", "", data.goldOf(trial).id, " ", make("span", "soft", data.goldOf(trial).title)),
    },
    {
      key: "replica", heading: "Replica", align: "right", width: "76px", help: "Which repetition, from 0.",
      value: (trial) => columns.replica[trial], cell: (trial) => count(columns.replica[trial]),
    },
    {
      key: "result", heading: "Result", width: "178px",
      help: "How it ended; of a query that executed, the class of what is wrong. C is still valid.",
      value: (trial) => (columns.status[trial] === "ok" ? `ok ${columns.class[trial]}` : columns.status[trial]),
      cell: (trial) => chipOf(data, trial),
    },
    { key: "stages", heading: "Stages", width: "120px", cell: (trial) => stageBar(data, trial) },
    figure("e2e_s", "End to end", "s", help.e2e_s),
    figure("gold_median_s", "Gold", "s", help.gold_s),
    figure("generated_median_s", "Generated", "s", help.generated_s),
    {
      key: "ves_star", heading: "VES*", align: "right", width: "84px",
      help: help.ves_star,
      value: data.vesStar, cell: (trial) => number(data.vesStar(trial)),
    },
    {
      ...figure("usd", "Cost", "$", help.cost_usd, "124px"),
      cell: (trial) => make("span", "", number(columns.usd[trial]), make("span", "mark", columns.marks[trial])),
    },
  ].filter(Boolean);
};

const startTrials = (data) => {
  const { columns } = data;
  const form = document.querySelector(".filters");
  const dialog = byId("trial");
  const valueOf = {
    model: (trial) => data.configOf(trial).label,
    scale: (trial) => `${data.configOf(trial).scale ?? ""}`,
    question: (trial) => data.goldOf(trial).id,
    status: (trial) => columns.status[trial],
    class: (trial) => columns.class[trial],
  };
  const textOf = {
    scale: (value) => (value ? `SF ${value}` : DASH),
    status: words,
    class: (value) => CLASSES[value],
    question: (value) => {
      const gold = data.golds.find((each) => each.id === value);
      return gold?.title ? `${value} ${gold.title}` : value;
    },
  };
  const all = Array.from({ length: data.total }, (_, trial) => trial);
  const ofLink = new Map(all.map((trial) => [data.linkOf(trial), trial]));
  let state = new URLSearchParams();

  const grid = makeGrid(byId("list"), "Trials", trialColumns(data), {
    open: (trial) => go({ trial: data.linkOf(trial) }),
    sorted: ({ key, down }) => go({ sort: `${down ? "-" : ""}${key}` }),
    css: "trials",
  });

  /** Change the state, and with it the address; opening a trial can be gone back from. */
  const go = (changes) => {
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === "") state.delete(key);
      else state.set(key, value);
    }
    const hash = `#${state}`;
    if (changes.trial) location.hash = hash;
    else location.replace(hash === "#" ? "#trials-all=" : hash);
    apply();
  };

  for (const name of FILTERS) {
    const select = form.elements[name];
    const values = [...new Set(all.map(valueOf[name]))];
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    // What cannot be told apart needs no filter.
    select.closest("label").hidden = values.length < 2;
    select.append(new Option("all", ""));
    for (const value of values) select.append(new Option((textOf[name] ?? String)(value), value || "-"));
    select.addEventListener("change", () => go({ [name]: select.value }));
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => go(Object.fromEntries(FILTERS.map((name) => [name, null]))));
  byId("hint").hidden = !data.total;
  for (const name of [...STAGES, "overhead"]) byId("legend").append(make("span", stageClass(name), name));

  let drawn = null; // the filters and the order that are shown
  let opened = null;
  const list = () => {
    const wanted = FILTERS.filter((name) => state.get(name))
      .map((name) => [valueOf[name], state.get(name) === "-" ? "" : state.get(name)]);
    const sort = state.get("sort");
    const key = JSON.stringify([wanted.map(([, value]) => value), FILTERS.map((name) => state.get(name)), sort]);
    if (key === drawn) return;
    drawn = key;
    const found = wanted.length
      ? all.filter((trial) => wanted.every(([of, value]) => of(trial) === value)) : all;
    for (const name of FILTERS) form.elements[name].value = state.get(name) ?? "";
    grid.set(found, sort ? { key: sort.replace(/^-/, ""), down: sort.startsWith("-") } : null);
    byId("shown").textContent = `${count(found.length)} of ${plural(data.total, "trial")}`;
  };

  const button = (text, label, run) => {
    const made = make("button", "quiet", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.disabled = run === null;
    if (run) made.addEventListener("click", run);
    return made;
  };
  const beside = (step) => {
    const next = grid.beside(opened, step);
    return next === null ? null : () => {
      state.set("trial", data.linkOf(next));
      location.replace(`#${state}`);
      apply();
    };
  };
  const open = async (trial) => {
    opened = trial;
    grid.show(trial);
    const gold = data.goldOf(trial);
    const place = grid.place(trial);
    const title = make("h2", "", `${gold.id} ${gold.title}`);
    title.id = "trial-title";
    const body = make("div", "body");
    body.tabIndex = -1;
    dialog.replaceChildren(
      make("header", "", make("div", "", title,
        make("p", "", make("b", "", data.configOf(trial).name), make("span", "mark", data.configOf(trial).signs),
          ` replica ${columns.replica[trial]} `, chipOf(data, trial))),
      make("div", "buttons",
        make("span", "soft", place < 0 ? "" : `${count(place + 1)} of ${count(grid.shown().length)}`),
        button("←", "The trial before", beside(-1)), button("→", "The trial after", beside(1)),
        button("Close", "Close", () => dialog.close()))),
      body);
    if (!dialog.open) dialog.showModal();
    body.focus();
    dialog.scrollTop = 0;
    await showTrial(data, trial, body);
    dialog.dataset.shown = data.linkOf(trial);
  };
  dialog.addEventListener("close", () => {
    if (opened === null) return;
    opened = null;
    go({ trial: null });
    grid.focus();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("pre, .wraps")) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) beside(step)?.();
  });

  /** Show what the address says. */
  const apply = () => {
    list();
    const link = state.get("trial");
    const trial = link === null ? undefined : ofLink.get(link);
    if (trial === undefined) {
      if (dialog.open) { opened = null; dialog.close(); }
    } else if (trial !== opened) open(trial);
  };
  const read = () => {
    // `#cost` is a place in the page and changes nothing of the state.
    if (location.hash && !location.hash.includes("=")) return;
    state = new URLSearchParams(location.hash.slice(1));
    state.delete("trials-all");
    apply();
  };
  addEventListener("hashchange", read);
  read();
  if (drawn === null) apply();
};

const start = async () => {
  startTheme();
  startTips();
  startTables();
  const data = await loadData();
  startTrials(data);
  document.documentElement.dataset.ready = "yes";
};
