"use strict";
/* Draws the figures in the colours of the page, and makes switches work. Without it all tables are shown. */
(() => {
  const root = document.documentElement;
  const narrow = 640;

  // Colours in figures are CSS variables, so that they follow the page; plotly.js must be given their values.
  const colour = (key, value) => {
    const name = typeof value === "string" && /^var\((--[\w-]+)\)$/.exec(value);
    return name ? getComputedStyle(root).getPropertyValue(name[1]).trim() : value;
  };

  const legendBelow = (layout, names, width) => {
    const longest = Math.max(...names.map((name) => name.length));
    const perLine = Math.max(1, Math.floor(width / (7.5 * longest + 50)));
    const room = 22 * Math.ceil(names.length / perLine) + 10;
    layout.legend = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0 };
    layout.margin.b += room;
    layout.height += room;
  };

  const draw = (figure) => {
    const target = figure.querySelector(".drawing");
    const width = target.clientWidth;
    if (!width) return; // in a part that is not shown now
    const content = JSON.parse(figure.querySelector("script").textContent, colour);
    const { data, layout } = content;
    figure.prepare?.(content, colour); // what the script of this kind of page changes, such as the colouring
    const names = data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name);
    const longest = Math.max(0, ...names.map((name) => name.length));
    if (names.length && (width < narrow || longest > 30)) legendBelow(layout, names, width);
    Plotly.react(target, data, { ...layout, width }, {
      displaylogo: false,
      modeBarButtons: [["toImage", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    });
    figure.dispatchEvent(new Event("drawn"));
  };
  const drawAll = (within = document) => within.querySelectorAll("figure.plot").forEach(draw);

  const choose = (button) => {
    const group = button.closest(".switched");
    for (const other of group.querySelectorAll(":scope > .switch button")) {
      other.setAttribute("aria-pressed", String(other === button));
    }
    for (const panel of group.querySelectorAll(":scope > .panel")) {
      panel.hidden = panel.dataset.panel !== button.dataset.panel;
    }
    drawAll(group);
  };
  for (const group of document.querySelectorAll(".switched")) {
    const buttons = group.querySelectorAll(":scope > .switch button");
    buttons.forEach((button) => button.addEventListener("click", () => choose(button)));
    if (buttons.length) choose(buttons[0]);
  }

  root.classList.add("scripted");
  document.querySelectorAll("figure.plot").forEach((figure) => figure.addEventListener("redraw", () => draw(figure)));
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150, document); });

  // On paper: light, and nothing folded, so that all numbers are there.
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    document.querySelectorAll("details:not([open])").forEach((d) => { d.open = true; d.dataset.folded = ""; });
    drawAll();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    document.querySelectorAll("details[data-folded]").forEach((d) => { d.open = false; delete d.dataset.folded; });
    drawAll();
  });
})();
