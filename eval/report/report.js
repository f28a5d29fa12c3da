"use strict";
(() => {
  const PAGE = 50;
  const VERDICTS = {
    exact: "exact", A: "A: row count", B: "B: missing columns", C: "C: extra columns, valid",
    D: "D: wrong values", none: "not judged",
  };
  const data = JSON.parse(document.getElementById("data").textContent);
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const form = document.querySelector(".filters");

  // Everything is made of text nodes: no content of a run is ever read as markup.
  const make = (tag, css, ...children) => {
    const element = document.createElement(tag);
    if (css) element.className = css;
    element.append(...children.filter((child) => child !== null && child !== ""));
    return element;
  };
  const number = (value) => {
    if (value === null || value === undefined) return "—";
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size < -6) return value.toExponential(2);
    const decimals = Math.max(0, 2 - size);
    return value.toLocaleString("en-US", {
      minimumFractionDigits: decimals, maximumFractionDigits: decimals,
    });
  };
  const count = (value) => (value === null ? "—" : value.toLocaleString("en-US"));
  const dollars = (value) => (value === null ? "—" : "$" + number(value));
  const words = (name) => name.replaceAll("_", " ");
  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const stageClass = (name) => (name === "run" || name === "answer" ? name + "-stage" : name);

  const bar = (trial) => {
    const row = make("div", "stages");
    row.title = trial.stages.map((stage) => `${stage.name} ${number(stage.s)} s`).join(", ");
    const whole = trial.stages.reduce((sum, stage) => sum + Math.max(stage.s, 0), 0) || 1;
    for (const stage of trial.stages) {
      const part = make("i", stageClass(stage.name));
      part.style.width = `${(100 * Math.max(stage.s, 0)) / whole}%`;
      row.append(part);
    }
    return row;
  };
  const state = (trial) => {
    if (trial.status !== "ok") return make("span", "state bad", words(trial.status));
    const valid = trial.verdict === "exact" || trial.verdict === "C";
    const css = trial.verdict === "exact" ? "good" : valid ? "warn" : "bad";
    return make("span", "state " + css, VERDICTS[trial.verdict]);
  };
  const titled = (title, child) => make("div", "", make("h3", "", title), child);
  const code = (text) => make("pre", "", text ?? "—");

  const grid = (heads, rows) => {
    const cells = (tag, values) => values.map((value, i) => {
      const cell = make(tag, i ? "right" : "left");
      cell.append(value ?? "—");
      return cell;
    });
    return make("div", "wraps", make("table", "",
      make("thead", "", make("tr", "", ...cells("th", heads))),
      make("tbody", "", ...rows.map((row) => make("tr", "", ...cells("td", row))))));
  };
  const stageTable = (trial) => grid(
    ["Stage", "Seconds", "Tokens in", "Tokens out", "Dollars"],
    trial.stages.map((stage) => [
      make("span", "dot " + stageClass(stage.name), stage.name),
      number(stage.s), count(stage.input), count(stage.output), number(stage.usd),
    ]));
  const stepItem = (step) => {
    const tokens = step.input === null && step.output === null
      ? "" : `, ${count(step.input)} tokens in, ${count(step.output)} out`;
    const wait = step.wait_s ? `, then waited ${number(step.wait_s)} s` : "";
    const item = make("details", "step" + (step.nested ? " nested" : ""), make("summary", "",
      make("b", "", step.name), ` ${step.role} `,
      make("span", "soft", `${number(step.s)} s${tokens}${wait}`),
      step.error ? make("span", "bad", " failed") : ""));
    for (const text of [...step.calls, step.text, step.error]) if (text) item.append(code(text));
    return item;
  };
  const body = (trial) => {
    const question = data.questions[trial.question] ?? { text: "", gold: null };
    const speed = trial.gold_s === null
      ? "" : ` Engine: gold ${number(trial.gold_s)} s, generated ${number(trial.generated_s)} s.`;
    const said = trial.status === "ok"
      ? capital(VERDICTS[trial.verdict]) + (trial.reason ? `: ${trial.reason.replace(/\.$/, "")}.` : ".") : `Not judged: ${words(trial.status)}.`;
    const parts = [
      titled("Question", make("p", "", question.text)),
      titled("Verdict", make("p", "", said + speed)),
      trial.error ? titled("Error", code(trial.error)) : null,
      make("div", "pair", titled("Generated SQL", code(trial.sql)), titled("Gold SQL", code(question.gold))),
      titled(`Time and money: ${number(trial.e2e_s)} s, ${dollars(trial.usd)} `
        + `(LLM ${dollars(trial.llm_usd)}, engine ${dollars(trial.engine_usd)}) ${trial.marks}`,
      make("div", "", bar(trial), stageTable(trial))),
    ];
    if (trial.rows.length) {
      parts.push(titled(`Result: first ${trial.rows.length} of ${count(trial.row_count)} rows`,
        grid(trial.columns, trial.rows.map((row) => row.map((cell) => cell ?? "NULL")))));
    }
    parts.push(titled("Steps", make("div", "", ...trial.steps.map(stepItem))));
    return make("div", "body", ...parts);
  };
  const entry = (trial) => {
    const title = data.questions[trial.question]?.title ?? "";
    const item = make("details", "trial", make("summary", "",
      make("span", "who", trial.model),
      make("span", "what", trial.question + " ", make("span", "soft", `${title} #${trial.replica + 1}`)),
      state(trial), make("div", "bar-cell", bar(trial)),
      make("span", "took right", number(trial.e2e_s) + " s"),
      make("span", "paid right", dollars(trial.usd), make("span", "mark", trial.marks))));
    item.addEventListener("toggle", () => {
      if (item.open && item.children.length === 1) item.append(body(trial));
    });
    return item;
  };

  let found = [];
  let drawn = 0;
  const draw = () => {
    const next = found.slice(drawn, drawn + PAGE);
    list.append(...next.map(entry));
    drawn += next.length;
    more.hidden = drawn >= found.length;
  };
  const filter = () => {
    const wanted = [...new FormData(form)].filter(([, value]) => value !== "");
    found = data.trials.filter((trial) => wanted.every(([key, value]) => trial[key] === value));
    document.getElementById("shown").textContent = `${count(found.length)} of ${count(data.trials.length)} trials`;
    list.replaceChildren();
    drawn = 0;
    draw();
  };
  for (const select of form.querySelectorAll("select")) {
    const values = [...new Set(data.trials.map((trial) => trial[select.name]))];
    if (select.name === "verdict") values.sort((a, b) => (VERDICTS[a] < VERDICTS[b] ? -1 : 1));
    select.append(new Option("all", ""));
    for (const value of values) {
      const text = select.name === "verdict" ? VERDICTS[value] : select.name === "status" ? words(value) : value;
      select.append(new Option(text, value));
    }
    select.addEventListener("change", filter);
  }
  for (const name of ["list", "schema", "check", "run", "answer", "overhead"]) {
    document.getElementById("legend").append(make("span", stageClass(name), name));
  }
  more.addEventListener("click", draw);
  filter();
})();
