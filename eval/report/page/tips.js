// Hover and focus explain: what an element's `data-help` says is shown beside it.

const startTips = () => {
  const tip = byId("tip");
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const of = event.target.closest?.("[data-help]");
    if (!of) { hide(); return; }
    tip.textContent = of.dataset.help;
    (of.closest("dialog") ?? document.body).append(tip);
    tip.hidden = false;
    const at = of.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = at.bottom + tip.offsetHeight + 12 > innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above ? at.top - tip.offsetHeight - 6 : at.bottom + 6}px`;
    of.setAttribute("aria-describedby", "tip");
  };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
};
