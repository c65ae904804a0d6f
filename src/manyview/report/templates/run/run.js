"use strict";
/* The map: colouring, and the samples of the chosen cluster; heat maps of markers. Comes before page.js, which draws. */
(() => {
  const figure = document.getElementById("samples");
  const buttons = document.querySelectorAll(".clusters button");
  const colourings = document.querySelectorAll(".colouring button");
  const select = document.getElementById("by-column");
  // Values of markers and metadata for the samples of the map; null on pages without them.
  const stored = JSON.parse(document.getElementById("stored")?.textContent ?? "null");
  const pale = 0.12;
  let cluster = null;
  let colouring = colourings[0].dataset.colouring;
  let column = null; // its index, if the map is coloured by one

  // plotly.js interprets some HTML in every text.
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const digits = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));
  const words = ({ values, categories }, i) =>
    values[i] === null ? "no value" : categories ? plain(categories[values[i]]) : digits(values[i]);

  const byColumn = ({ name, values, limits, categories }, colour) => {
    const unknown = colour("", "var(--line)");
    if (categories) {
      const marks = stored.marks[column];
      return {
        color: values.map((code) => (code === null ? unknown : colour("", marks[code].color))),
        symbol: values.map((code) => (code === null ? "circle-open" : marks[code].symbol)),
      };
    }
    const title = name.length > 24 ? `${name.slice(0, 22)}…` : name;
    return {
      color: values.map((value) => value ?? unknown),
      symbol: values.map((value) => (value === null ? "circle-open" : "circle")),
      colorscale: stored.scale.map(([at, name]) => [at, colour("", name)]),
      cmin: limits[0],
      cmax: limits[1],
      showscale: true,
      colorbar: { title: { text: plain(title), side: "right" }, thickness: 12, len: 0.6, outlinewidth: 0, x: 1 },
    };
  };

  figure.prepare = ({ data, layout, colourings: markers }, colour) => {
    const [points] = data;
    points.marker = { ...markers[column === null ? colouring : "cluster"] };
    if (column !== null) {
      const own = stored.columns[column];
      Object.assign(points.marker, byColumn(own, colour));
      points.hovertext = points.hovertext.map((text, i) => `${text}<br>${plain(own.name)}: ${words(own, i)}`);
    }
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

  // By one of the buttons (a name), or by a stored column (its index).
  const colourBy = (name, index = null) => {
    [colouring, column] = [name, index];
    for (const other of colourings) other.setAttribute("aria-pressed", String(other.dataset.colouring === name));
    for (const other of document.querySelectorAll(".marker")) {
      other.setAttribute("aria-pressed", String(Number(other.dataset.column) === index));
    }
    for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== name;
    if (select) select.value = index ?? "";
    const said = document.getElementById("coloured");
    if (said) said.hidden = index === null;
    if (index !== null) {
      const { name: own, group, values } = stored.columns[index];
      said.querySelector("strong").textContent = group === null ? own : `${own} (${group})`;
      said.querySelector(".missing").hidden = !values.includes(null);
    }
    redraw();
  };
  const colourByColumn = (index) => colourBy(`column ${index}`, index);
  for (const button of colourings) button.addEventListener("click", () => colourBy(button.dataset.colouring));
  select?.addEventListener("change", () => {
    if (select.value === "") colourBy(colourings[0].dataset.colouring);
    else colourByColumn(Number(select.value));
  });

  const showOnMap = (index) => {
    colourByColumn(index);
    document.querySelector(".colouring").scrollIntoView({ block: "start" });
  };
  for (const button of document.querySelectorAll(".marker")) {
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => showOnMap(Number(button.dataset.column)));
  }

  for (const heat of document.querySelectorAll("figure.heat")) {
    let rows = [];
    heat.prepare = (content, colour) => {
      const [cells] = content.data;
      const { layout, spans } = content;
      ({ rows } = content);
      const own = rows.map((row) => stored.columns[row.column]);
      cells.z = own.map(({ values, centre, spread }) =>
        stored.order.map((i) => (values[i] === null ? null : (values[i] - centre) / spread)));
      cells.text = own.map((each, j) => stored.order.map((i, at) => {
        const in_ = spans.find(({ start, end }) => at >= start && at < end);
        const z = each.values[i] === null ? "" : ` (z ${cells.z[j][at].toFixed(1)})`;
        return `sample ${plain(stored.samples[i])}<br>${in_.name}<br>${plain(each.name)}: ${words(each, i)}${z}`;
      }));
      // A strip of colours and names on top, one on the left that says whose markers the rows are, and lines between.
      const n = stored.order.length;
      const strip = 0.02 * n;
      const height = layout.height - layout.margin.t - layout.margin.b;
      const room = heat.clientWidth - 200;
      const box = (x0, x1, y0, y1, fill, yref = "y") =>
        ({ type: "rect", xref: "x", yref, x0, x1, y0, y1, fillcolor: fill, line: { width: 0 }, layer: "above" });
      layout.shapes = spans.filter(({ start, end }) => end > start).flatMap(({ start, end, color }) => [
        box(start - 0.5, end - 0.5, 1 + 2 / height, 1 + 8 / height, color, "paper"),
        { type: "line", xref: "x", yref: "paper", x0: end - 0.5, x1: end - 0.5, y0: 0, y1: 1,
          line: { width: end < n ? 1 : 0, color: colour("", "var(--ink)") } },
      ]);
      rows.forEach((row, j) => layout.shapes.push(
        box(-0.5 - strip, -0.5 - 0.3 * strip, j - 0.5, j + 0.5, spans[row.cluster].color)));
      layout.annotations = spans.filter(({ start, end, name }) => ((end - start) / n) * room > 7 * name.length)
        .map(({ start, end, name }) => ({ text: name, x: (start + end - 1) / 2, xref: "x", y: 1 + 10 / height,
          yref: "paper", yanchor: "bottom", showarrow: false, font: { size: 12 } }));
    };
    heat.addEventListener("drawn", () => {
      heat.querySelector(".drawing").on("plotly_click", ({ points }) => showOnMap(rows[points[0].y].column));
    }, { once: true });
  }

  figure.addEventListener("drawn", () => {
    figure.querySelector(".drawing").on("plotly_click", ({ points }) => choose(points[0].customdata));
  }, { once: true });
})();
