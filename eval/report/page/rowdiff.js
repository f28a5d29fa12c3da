// Two results side by side: which of the first rows' cells differ. A help to the eye: the verdict
// compares all rows, by their values' types, and is not made here.

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

const sameCell = (a, b) => {
  if (a === b) return true;
  if (a === null || b === null || !NUMBER.test(a) || !NUMBER.test(b)) return false;
  const decimals = (text) => (/e/i.test(text) ? 15 : (text.split(".")[1] ?? "").length);
  const [x, y] = [Number(a), Number(b)];
  const coarser = Math.min(decimals(a), decimals(b));
  const half = coarser ? 0.5 * 10 ** -coarser : 0;
  return Math.abs(x - y) <= Math.max(1e-9 * Math.max(Math.abs(x), Math.abs(y)), half * 1.0000001);
};

/** For each column of gold the place of its match in the other result, or -1. */
const matchColumns = (gold, other) => {
  const taken = new Set();
  const rows = Math.min(gold.rows.length, other.rows.length);
  const matches = gold.columns.map((name, i) => {
    let best = -1;
    let most = 0;
    other.columns.forEach((its, j) => {
      if (taken.has(j)) return;
      let like = its.toLowerCase() === name.toLowerCase() ? 0.75 : 0;
      if (i === j) like += 0.125;
      let same = 0;
      for (let r = 0; r < rows; r += 1) if (sameCell(gold.rows[r][i], other.rows[r][j])) same += 1;
      like += rows ? (2 * same) / rows : 0;
      if (like > most) { most = like; best = j; }
    });
    if (most < 0.5) return -1;
    taken.add(best);
    return best;
  });
  // As many are left on both sides: the same columns under other names, with other values.
  const left = [...other.columns.keys()].filter((j) => !taken.has(j));
  if (left.length === matches.filter((j) => j < 0).length) {
    return matches.map((j) => (j < 0 ? left.shift() : j));
  }
  return matches;
};

/** For each row of gold its partner: a row that equals it, or the free one that is most like it. */
const pairRows = (gold, other, columns) => {
  const known = columns.map((j, i) => [i, j]).filter(([, j]) => j >= 0);
  const alike = (g, o) => known.filter(([i, j]) => sameCell(gold.rows[g][i], other.rows[o][j])).length;
  const free = new Set(other.rows.keys());
  const pair = new Array(gold.rows.length).fill(-1);
  const take = (g, o) => { pair[g] = o; free.delete(o); };
  const whole = (g, o) => known.length && alike(g, o) === known.length;
  gold.rows.forEach((_, g) => { if (free.has(g) && whole(g, g)) take(g, g); });
  gold.rows.forEach((_, g) => {
    const equal = pair[g] < 0 ? [...free].find((o) => whole(g, o)) : undefined;
    if (equal !== undefined) take(g, equal);
  });
  gold.rows.forEach((_, g) => {
    if (pair[g] >= 0 || !free.size) return;
    take(g, [...free].reduce((best, o) => (alike(g, o) > alike(g, best) ? o : best)));
  });
  return pair;
};

const resultTable = ({ columns, rows }, cssOfColumn, cssOfCell) => {
  const said = { differs: "differs", extra: "a column that gold lacks", missing: "nothing in the other result is like it" };
  const numeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => row[i] === null || NUMBER.test(row[i])));
  const css = (i, more, cell) => [more, cell === null ? "null" : "", numeric[i] ? "right" : ""].join(" ").trim();
  const head = make("tr", "", ...columns.map((name, i) => make("th", css(i, cssOfColumn(i)), name)));
  const body = rows.map((row, r) => make("tr", "", ...row.map((cell, i) => {
    const mark = cssOfCell(r, i);
    const shown = make("td", css(i, mark, cell));
    shown.append(cell ?? "NULL");
    if (mark) shown.title = said[mark];
    return shown;
  })));
  return make("div", "wraps", make("table", "result", make("thead", "", head), make("tbody", "", ...body)));
};

/** Tables of both results with the cells that differ marked, and in words how many those are. */
const rowDiff = (gold, other) => {
  const columns = matchColumns(gold, other);
  const pair = pairRows(gold, other, columns);
  const columnOf = new Map(columns.map((j, i) => [j, i]));
  const rowOf = new Map(pair.map((o, g) => [o, g]));
  let differing = 0;
  const goldCell = (g, i) => {
    if (columns[i] < 0 || pair[g] < 0) return "missing";
    return sameCell(gold.rows[g][i], other.rows[pair[g]][columns[i]]) ? "" : "differs";
  };
  const otherCell = (o, j) => {
    if (!columnOf.has(j)) return "extra";
    if (!rowOf.has(o)) return "missing";
    const differs = !sameCell(gold.rows[rowOf.get(o)][columnOf.get(j)], other.rows[o][j]);
    if (differs) differing += 1;
    return differs ? "differs" : "";
  };
  const generated = resultTable(other, (j) => (columnOf.has(j) ? "" : "extra"), otherCell);
  const alone = (some) => some.filter((each) => each < 0).length;
  const counts = [
    [differing, "cell"],
    [other.columns.length - columns.length + alone(columns), "column that gold lacks"],
    [alone(columns), "column of gold missing"],
    [other.rows.length - pair.length + alone(pair), "row more"],
    [alone(pair), "row of gold missing"],
  ].filter(([some]) => some > 0).map(([some, what]) => `${count(some)} ${some === 1 ? what : what.replace(/^\w+/, "$&s")}`);
  return {
    generated,
    gold: resultTable(gold, (i) => (columns[i] < 0 ? "missing" : ""), goldCell),
    said: counts.length
      ? `Marked in the rows shown: ${counts.join(", ")}. The verdict compared all rows.`
      : "The rows shown agree. The verdict compared all rows.",
  };
};
