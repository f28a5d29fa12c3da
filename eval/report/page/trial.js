// One trial: what was asked, what was answered, why it counts or not, where time and money went.

const VERDICTS = [
  ["focus", "contains gold", "does not contain gold", "valid"],
  ["exact", "equals gold", "does not equal gold", "ex_exact"],
  ["ordered", "in gold's order", "not in gold's order", "ex_ordered"],
  ["bird_set", "right by BIRD's rule", "wrong by BIRD's rule", "ex_set"],
];

const part = (title, ...content) => make("section", "panel", make("h3", "", title), ...content);
const pair = (...sides) => make("div", "pair", ...sides.map(
  ([title, content]) => make("div", "", make("h4", "", title), content)));
const leftOut = (what, command) => make("p", "left-out",
  `${what} left out, so that this page stays under 6 MB. In the run's directory it is whole: `,
  make("code", "", command));
const quoted = (text) => (/^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const chipOf = (data, trial) => {
  const { status, class: classes } = data.columns;
  if (status[trial] !== "ok") return make("span", "chip bad", words(status[trial]));
  const css = classes[trial] === "exact" ? "good" : data.valid(trial) ? "warn" : "bad";
  return make("span", `chip ${css}`, CLASSES[classes[trial]]);
};

/** A bar of the stages' seconds, in the colours of the legend. */
const stageBar = (data, trial) => {
  const parts = [...STAGES, "overhead"].map((name) => [name, data.columns[`${name}_s`][trial]])
    .filter(([, seconds]) => seconds > 0);
  const whole = parts.reduce((sum, [, seconds]) => sum + seconds, 0) || 1;
  const bar = make("div", "stages");
  bar.title = parts.map(([name, seconds]) => `${name} ${number(seconds)} s`).join(", ");
  for (const [name, seconds] of parts) {
    const piece = make("i", stageClass(name));
    piece.style.width = `${(100 * seconds) / whole}%`;
    bar.append(piece);
  }
  return bar;
};

const verdictPart = (data, trial, query) => {
  const verdict = query?.verdict;
  const list = make("ul", "verdicts");
  for (const [key, name, not, help] of verdict ? VERDICTS : []) {
    const holds = verdict[key];
    const item = make("li", holds ? "good" : holds === null ? "soft" : "bad",
      make("b", "", holds ? "✓" : holds === null ? "?" : "✗"),
      make("span", "", holds ? name : holds === null ? `${name}: cannot be told` : not));
    item.dataset.help = data.help[help];
    item.tabIndex = 0;
    list.append(item);
  }
  const said = [];
  if (verdict?.reason) said.push(verdict.reason.replace(/\.?$/, "."));
  if (verdict) {
    const [gold, its, found] = verdict.columns;
    said.push(`${found} of gold's ${plural(gold, "column")} found among ${its}; `
      + `${plural(verdict.rows[1], "row")}, gold has ${count(verdict.rows[0])}.`);
  }
  if (verdict?.empty_gold) said.push("Gold has no rows, or nothing but NULL: the verdict proves little.");
  if (verdict?.nondeterministic) said.push("Gold's own result is one of several right ones.");
  if (!verdict) said.push(`Not judged: ${words(data.columns.status[trial])}.`);
  return part("Verdict", verdict ? list : null, make("p", "", said.join(" ")),
    query?.error ? make("pre", "error", query.error) : null);
};

const sqlPart = (query, gold) => {
  const diff = sqlDiff(query?.sql, gold.sql);
  const note = diff.differing && (diff.differing[0] + diff.differing[1]
    ? `Marked: ${plural(diff.differing[0], "token")} that gold lacks, ${count(diff.differing[1])} that only gold has.`
    : "Token for token the same, but for letter case and spaces.");
  return part("SQL", pair(["Generated", diff.generated], ["Gold", diff.gold]),
    note ? make("p", "note", note) : null);
};

const rowsPart = (rows, gold, rowCount) => {
  const ours = rows?.rows.length ? rows : null;
  const its = gold.rows?.length ? { columns: gold.columns, rows: gold.rows } : null;
  const head = (name, result, all) => (result
    ? `${name}: first ${result.rows.length} of ${plural(all, "row")}` : name);
  const none = (text) => make("p", "soft", text);
  const diff = ours && its ? rowDiff(its, ours) : null;
  const plain = (result) => resultTable(result, () => "", () => "");
  return part("Results",
    pair(
      [head("Generated", ours, rowCount), ours ? diff?.generated ?? plain(ours) : none(rowCount === 0 ? "no rows" : "no rows kept")],
      [head("Gold", its, gold.row_count), its ? diff?.gold ?? plain(its) : none(gold.row_count === 0 ? "no rows" : "no rows kept")]),
    diff ? make("p", "note", diff.said) : null);
};

/** Steps along the seconds of the trial, each a bar in its stage's colour. */
const timeline = (steps, e2e) => {
  const end = Math.max(e2e ?? 0, ...steps.map((step) => step.start_s + step.seconds + step.wait_s)) || 1;
  const rows = steps.map((step) => {
    const bar = make("i", stageClass(step.stage));
    bar.style.left = `${(100 * step.start_s) / end}%`;
    bar.style.width = `${Math.max(0.3, (100 * step.seconds) / end)}%`;
    const wait = step.wait_s ? make("i", "wait") : null;
    if (wait) {
      wait.style.left = `${(100 * (step.start_s + step.seconds)) / end}%`;
      wait.style.width = `${(100 * step.wait_s) / end}%`;
    }
    const what = step.role === "tool" ? step.name : step.role;
    const calls = step.calls.length ? ` → ${step.calls.join(", ")}` : "";
    const row = make("tr", step.error ? "failed" : "",
      make("td", `who${step.nested ? " nested" : ""}`, make("b", "", what), make("span", "soft", calls),
        step.error ? make("span", "bad", " failed") : null),
      make("td", "lane", make("div", "lane-in", bar, wait)),
      ...[step.start_s, step.seconds, step.engine_s].map((value) => make("td", "right", number(value))),
      ...[step.input, step.output].map((value) => make("td", "right", step.role === "tool" && value === null ? "" : count(value))),
      make("td", "right", number(step.usd)));
    return row;
  });
  const heads = [["Step"], [`0 to ${number(end)} s`], ["Start", "s"], ["Took", "s"], ["Engine", "s"],
    ["Tokens", "in"], ["Tokens", "out"], ["Cost", "$"]];
  return make("div", "wraps", make("table", "timeline",
    make("thead", "", make("tr", "", ...heads.map(([name, unit], i) => make("th", i > 1 ? "right" : "",
      name, unit ? make("span", "unit", unit) : null)))),
    make("tbody", "", ...rows)));
};

const stageTable = (data, trial, query) => {
  const { columns } = data;
  const rows = [...STAGES, "overhead"].map((name) => [name, columns[`${name}_s`][trial]])
    .filter(([, seconds]) => seconds !== null)
    .map(([name, seconds]) => {
      const [llm, engine] = query?.usd[name] ?? [null, null];
      const tokens = query?.tokens[name] ?? [null, null];
      const none = name === "overhead" ? "" : null;
      const money = (value) => none ?? number(value);
      return [make("span", `dot ${stageClass(name)}`, name), number(seconds),
        none ?? count(tokens[0]), none ?? count(tokens[1]), money(llm), money(engine),
        money(columns[`${name}_usd`]?.[trial])];
    });
  rows.push([make("b", "", "whole"), number(columns.e2e_s[trial]), count(columns.input_tokens[trial]),
    count(columns.output_tokens[trial]), number(columns.llm_usd[trial]), number(columns.engine_usd[trial]),
    number(columns.usd[trial])]);
  const heads = ["Stage", "Seconds", "Tokens in", "Tokens out", "LLM $", "Engine $", "Cost $"];
  const table = plainTable(heads, rows, "stage-table");
  table.querySelector("th").dataset.help = data.help.stage;
  return table;
};

const FACTS = [
  ["run_s", "Task time", "s", number], ["cpu_s", "CPU time", "s", number],
  ["read_bytes", "Read", "", bytes], ["read_rows", "Rows read", "", count],
  ["shuffle_read_bytes", "Shuffle read", "", bytes], ["shuffle_write_bytes", "Shuffle written", "", bytes],
  ["spill_memory_bytes", "Spilled from memory", "", bytes], ["spill_disk_bytes", "Spilled to disk", "", bytes],
  ["peak_memory_bytes", "Peak memory", "", bytes],
  ["jobs", "Jobs", "", count], ["stages", "Stages", "", count], ["tasks", "Tasks", "", count],
  ["plan_digest", "Plan", "", (text) => text ?? DASH],
];

const enginePart = (data, trial, query, steps, gold) => {
  const { columns } = data;
  const raw = (some) => (some ? some.map(number).join(", ") : DASH);
  const rows = [
    ["Median, s", number(columns.generated_median_s[trial]), number(columns.gold_median_s[trial])],
    ["Each execution, s", raw(query?.timings?.[1]), raw(query?.timings?.[0])],
  ];
  const run = steps?.findLast((step) => step.facts && step.name === "run_query");
  const facts = run?.facts ?? null;
  for (const [key, name, unit, shown] of facts || gold.facts ? FACTS : []) {
    if ((facts?.[key] ?? null) === null && (gold.facts?.[key] ?? null) === null) continue;
    rows.push([unit ? `${name}, ${unit}` : name, shown(facts?.[key]), shown(gold.facts?.[key])]);
  }
  return part("Engine", plainTable(["", "Generated", "Gold"], rows, "facts"),
    facts || gold.facts ? make("p", "note",
      "Below the timings: what the engine tells of the agent's own execution and of gold's first one.") : null);
};

const WHO = { system: "System", user: "User", assistant: "Model", tool: "Tool", error: "Error" };
const talkPart = (talk) => {
  const entries = talk.map((entry) => {
    const size = entry.text.length;
    const tokens = entry.tokens
      ? `${count(entry.tokens[0])} tokens in, ${count(entry.tokens[1])} out` : "";
    const item = make("details", `said ${entry.who}`, make("summary", "",
      make("b", "", WHO[entry.who] ?? entry.who), " ", make("span", "", entry.name), " ",
      make("span", "soft", entry.calls.map((call) => `→ ${call.name}`).join(" ")
        || (size ? entry.text.slice(0, 90).replaceAll(/\s+/g, " ") + (size > 90 ? "…" : "") : "")),
      make("span", "tokens soft", tokens)));
    item.addEventListener("toggle", () => {
      if (!item.open || item.children.length > 1) return;
      if (entry.text) item.append(make("pre", "", entry.text));
      for (const call of entry.calls) {
        item.append(make("div", "call", make("b", "", call.name)));
        for (const [name, value] of Object.entries(call.arguments)) {
          item.append(make("div", "argument", make("span", "soft", name), make("pre", "", value)));
        }
      }
    });
    return item;
  });
  return part(`Transcript: ${plural(talk.length, "message")}`,
    talk.length ? make("div", "talk", ...entries) : make("p", "soft", "No conversation is kept."));
};

/** Fill an element with a trial. */
const showTrial = async (data, trial, body) => {
  const { columns } = data;
  const gold = data.goldOf(trial);
  const config = data.configOf(trial);
  const [query, steps, rows, talk] = await Promise.all(
    ["query", "steps", "rows", "talk"].map((layer) => data.detail(layer, trial)));
  const command = `bothends transcript ${quoted(gold.run ?? data.name)} --question ${quoted(gold.id)} `
    + `--model ${quoted(config.spec)} --replica ${columns.replica[trial]}`;
  const asked = [gold.database && `database ${gold.database}`, gold.difficulty].filter(Boolean).join(", ");
  const speed = columns.retries[trial]
    ? ` ${plural(columns.retries[trial], "retry")} of the provider took ${number(columns.retry_s[trial])} s.`.replace("retrys", "retries") : "";
  body.replaceChildren(
    part("Question", make("p", "asked", gold.text || DASH),
      gold.evidence ? make("p", "", make("b", "", "Evidence: "), gold.evidence) : null,
      asked ? make("p", "soft", asked) : null),
    verdictPart(data, trial, query),
    query ? sqlPart(query, gold) : part("SQL", leftOut("The query is", command)),
    rows ? rowsPart(rows, gold, columns.row_count[trial]) : part("Results", leftOut("The first rows are", command)),
    part(`Time and money: ${number(columns.e2e_s[trial])} s, ${dollars(columns.usd[trial])}`
      + `${columns.marks[trial] ? ` ${columns.marks[trial]}` : ""}`,
    stageBar(data, trial), stageTable(data, trial, query),
    steps ? timeline(steps, columns.e2e_s[trial]) : leftOut("The steps are", command),
    speed ? make("p", "note", speed.trim()) : null),
    enginePart(data, trial, query, steps, gold),
    talk ? talkPart(talk) : part("Transcript", leftOut("The transcript is", command)),
  );
};
