// The embedded data: an index of all trials, and layers of details, unpacked when they are asked for.

const unpack = async (packed) => {
  const raw = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
};

/** Read what is embedded; see eval/report/embed.py for its shape. */
const loadData = async () => {
  const { index, layers } = JSON.parse(byId("data").textContent);
  const { columns, configs, golds, help, order, name } = await unpack(index);
  const rank = new Int32Array(order.length);
  order.forEach((trial, place) => { rank[trial] = place; });
  const unpacked = new Map();

  /** One trial's content of a layer, or null where it was left out of the page. */
  const detail = async (layer, trial) => {
    const { size, count: kept, chunks } = layers[layer];
    if (rank[trial] >= kept) return null;
    const chunk = Math.floor(rank[trial] / size);
    const key = `${layer} ${chunk}`;
    if (!unpacked.has(key)) unpacked.set(key, unpack(chunks[chunk]));
    const content = await unpacked.get(key);
    const place = rank[trial] % size;
    if (layer !== "talk") return content[place];
    return content.talks[place].map((entry) => ({ ...entry, text: content.texts[entry.text] }));
  };

  const configOf = (trial) => configs[columns.config[trial]];
  const goldOf = (trial) => golds[columns.gold[trial]] ?? { id: "", title: "", text: "", sql: "" };
  const valid = (trial) => columns.class[trial] === "exact" || columns.class[trial] === "C";
  return {
    name, columns, configs, golds, help, detail, configOf, goldOf, valid, total: order.length,
    kept: Object.fromEntries(Object.entries(layers).map(([layer, each]) => [layer, each.count])),
    /** VES* of one trial: valid * P * T_gold / T_e2e. */
    vesStar: (trial) => {
      if (!valid(trial)) return 0;
      const [gold, e2e] = [columns.gold_median_s[trial], columns.e2e_s[trial]];
      return gold === null || !e2e ? null : (columns.precision[trial] * gold) / e2e;
    },
    /** A trial's name in a link, which holds while the run grows. */
    linkOf: (trial) => [
      configOf(trial).name, goldOf(trial).run, goldOf(trial).id, columns.replica[trial],
    ].join("|"),
  };
};
