// Two queries side by side: what one says and the other does not, token by token.

const TOKEN = /\s+|--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|[A-Za-z_][\w$]*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|<>|<=|>=|!=|\|\||::|[\s\S]/g;
const MOST = 4e6; // cells of the table of common tokens; beyond it nothing is compared

const blank = (token) => /^(\s|--|\/\*)/.test(token);
const folded = (token) => (/^['"`]/.test(token) ? token : token.toLowerCase());

/** Which tokens of two lists are not in their longest common part: an array of flags for each. */
const unlike = (ours, theirs) => {
  const flags = [new Uint8Array(ours.length), new Uint8Array(theirs.length)];
  let start = 0;
  let [a, b] = [ours.length, theirs.length];
  while (start < a && start < b && ours[start] === theirs[start]) start += 1;
  while (a > start && b > start && ours[a - 1] === theirs[b - 1]) { a -= 1; b -= 1; }
  const [n, m] = [a - start, b - start];
  if (n * m > MOST) return null;
  const width = m + 1;
  const longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      longest[i * width + j] = ours[start + i] === theirs[start + j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && ours[start + i] === theirs[start + j]) { i += 1; j += 1; }
    else if (j >= m || (i < n && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      flags[0][start + i] = 1;
      i += 1;
    } else {
      flags[1][start + j] = 1;
      j += 1;
    }
  }
  return flags;
};

/** A query with the flagged tokens in `tag` elements, neighbours in one. */
const marked = (tokens, flags, tag) => {
  const code = make("pre", "sql");
  let place = 0; // among the tokens that count
  let run = null;
  let gap = "";
  for (const token of tokens) {
    if (blank(token)) { gap += token; continue; }
    const on = flags?.[place] === 1;
    place += 1;
    if (on && run) run.append(gap, token);
    else {
      if (gap) code.append(gap);
      if (on) { run = make(tag, "", token); code.append(run); }
      else { run = null; code.append(token); }
    }
    gap = "";
  }
  code.append(gap);
  return code;
};

/** Both queries with what differs marked, and how many tokens that is; null if not compared. */
const sqlDiff = (generated, gold) => {
  const tokens = [generated, gold].map((sql) => sql?.match(TOKEN) ?? []);
  const counted = tokens.map((all) => all.filter((token) => !blank(token)).map(folded));
  const both = generated && gold;
  const flags = both ? unlike(...counted) : null;
  const sum = (some) => some.reduce((all, each) => all + each, 0);
  return {
    generated: generated ? marked(tokens[0], flags?.[0], "ins") : make("p", "soft", "none"),
    gold: gold ? marked(tokens[1], flags?.[1], "del") : make("p", "soft", "none"),
    differing: flags ? [sum(flags[0]), sum(flags[1])] : null,
  };
};
