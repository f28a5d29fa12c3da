// Only in a page that `bothends view` serves: loads it anew when the run has gone on. The address
// keeps filters and order; an open trial is read in peace.

setInterval(async () => {
  if (byId("trial").open || document.hidden) return;
  try {
    const answer = await fetch("version", { cache: "no-store" });
    if (answer.ok && (await answer.text()) !== document.documentElement.dataset.version) location.reload();
  } catch { /* the server has ended: what is shown stays */ }
}, 2000);
