// Long tables, whose rows are drawn as they come into view; short ones are in the page as they are.

const startTables = () => {
  for (const table of JSON.parse(byId("long").textContent)) {
    const host = document.querySelector(`[data-long="${CSS.escape(table.name)}"]`);
    const grid = makeGrid(host, host.dataset.title, table.columns.map((column, i) => ({
      ...column,
      width: column.align === "right" ? "minmax(110px, 1fr)" : "minmax(130px, 1.6fr)",
      value: (row) => row[i][0],
      cell: (row) => {
        const [, text, signs] = row[i];
        return make("span", "", text, signs ? make("span", "mark", signs) : "");
      },
    })));
    grid.set(table.rows);
  }
};
