"use strict";
/* The map: colouring, and the samples of the chosen cluster. Comes before page.js, which draws. */
(() => {
  const figure = document.getElementById("samples");
  const buttons = document.querySelectorAll(".clusters button");
  const colourings = document.querySelectorAll(".colouring button");
  const pale = 0.12;
  let cluster = null;
  let colouring = colourings[0].dataset.colouring;

  figure.prepare = ({ data, layout, colourings: markers }) => {
    const [points] = data;
    points.marker = { ...markers[colouring] };
    if (cluster !== null) points.marker.opacity = points.customdata.map((own) => (own === cluster ? 1 : pale));
    if (figure.clientWidth < 500) points.marker.size *= 0.7;
    // Square on a wide page; on a phone as high as wide, so that the page around it can be scrolled.
    layout.height = Math.max(300, Math.min(layout.height, figure.clientWidth));
    layout.uirevision = "map"; // keep the zoom
  };

  const redraw = () => figure.dispatchEvent(new Event("redraw"));

  const choose = (chosen) => {
    cluster = chosen === cluster ? null : chosen;
    for (const button of buttons) button.setAttribute("aria-pressed", String(Number(button.dataset.cluster) === cluster));
    for (const list of document.querySelectorAll(".members")) list.hidden = Number(list.dataset.cluster) !== cluster;
    document.querySelector("#members .hint").hidden = cluster !== null;
    redraw();
  };
  for (const button of buttons) button.addEventListener("click", () => choose(Number(button.dataset.cluster)));

  for (const button of colourings) {
    button.addEventListener("click", () => {
      colouring = button.dataset.colouring;
      for (const other of colourings) other.setAttribute("aria-pressed", String(other === button));
      for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== colouring;
      redraw();
    });
  }

  figure.addEventListener("drawn", () => {
    figure.querySelector(".drawing").on("plotly_click", ({ points }) => choose(points[0].customdata));
  }, { once: true });
})();
