// A zoomable chart of a series' history. Replaces the server's picture, using the data in the page.
"use strict";

(() => {
  const holder = document.getElementById("history");
  const source = document.getElementById("data");
  if (!holder || !source || typeof uPlot === "undefined") return;
  const data = JSON.parse(source.textContent);
  const indexes = data.commits.map((_, index) => index);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const roomy = () => holder.clientWidth >= 600; // narrower, labels would overlap; the lists below repeat them

  const across = (plot, index, colour, dash, label) => {
    const { ctx, bbox } = plot;
    const x = Math.round(plot.valToPos(index, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (label && roomy()) {
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.font = `${11 * devicePixelRatio}px sans-serif`;
      ctx.fillText(label, x + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
    }
    ctx.restore();
  };

  const marks = (plot) => {
    for (const index of data.epochs) across(plot, index - 0.5, style("--quiet"), [6, 4], "environment changed");
    for (const [index, name] of data.releases) across(plot, index, style("--quiet"), [1, 4], name);
    for (const change of data.changes) {
      const sign = change.kind === "regression" ? "▲" : change.kind === "improvement" ? "▼" : change.kind === "changed" ? "≠" : "◇";
      const colour = change.kind === "regression" ? style("--worse") : change.kind === "improvement" ? style("--better") : style("--quiet");
      across(plot, change.at, colour, [], `${sign} ${change.words}`);
    }
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = ctx.strokeStyle = style("--quiet");
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    for (const reference of data.references) {
      const y = plot.valToPos(reference.value, "y", true);
      ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      if (!roomy()) continue;
      ctx.fillText(reference.label, bbox.left + 6 * devicePixelRatio, y - 4 * devicePixelRatio);
    }
    if (data.own) {
      ctx.setLineDash([]);
      ctx.fillStyle = style("--accent");
      const at = plot.valToPos(data.own.at, "x", true);
      if (data.own.low != null) {
        ctx.strokeStyle = style("--accent");
        ctx.lineWidth = 2 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(at, plot.valToPos(data.own.low, "y", true));
        ctx.lineTo(at, plot.valToPos(data.own.high, "y", true));
        ctx.stroke();
      }
      ctx.beginPath();
      ctx.arc(at, plot.valToPos(data.own.centre, "y", true), 5 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.restore();
  };

  // No line crosses the border of an epoch, because values on its two sides are not comparable.
  const starts = new Set(data.epochs);
  const gaps = (values) => (plot, series, from, to) => [...starts].filter((index) => index > from && index <= to).map((index) => [
    plot.valToPos(index - 1, "x", true), plot.valToPos(index, "x", true)]);

  const bounds = [...data.centre, ...data.low, ...data.high, data.own?.centre, data.own?.low, data.own?.high, ...data.references.map((each) => each.value)].filter((value) => value != null);
  const least = Math.min(...bounds), largest = Math.max(...bounds);
  const room = (largest - least) * 0.08 || Math.abs(largest) * 0.02 || 1;
  // A click without a drag opens the revision under the cursor.
  const leading = (plot) => {
    let from = null;
    plot.over.style.cursor = "pointer";
    plot.over.addEventListener("mousedown", (event) => { from = event.clientX; });
    plot.over.addEventListener("click", (event) => {
      const index = plot.cursor.idx;
      if (from !== null && Math.abs(event.clientX - from) < 4 && index != null) location.assign(`/revisions/${data.commits[index]}`);
    });
  };
  let plot;
  const draw = () => {
    plot?.destroy();
    holder.replaceChildren();
    const axis = { stroke: style("--text"), grid: { stroke: style("--grid") }, ticks: { stroke: style("--grid") } };
    plot = new uPlot({
      width: holder.clientWidth,
      height: 280,
      padding: [8, 48, 0, 0],
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(low, least) - room, Math.max(high, largest) + room] } },
      legend: { live: true },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => (tick in data.commits ? `${data.commits[tick]}\n${data.dates[tick]}` : "")), size: 56, space: 110, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000] },
        { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => `${+tick.toPrecision(6)}`) },
      ],
      series: [
        { label: "revision", value: (_, index) => (index in data.commits ? `${data.commits[index]}, ${data.dates[index]}` : "–") },
        { label: `median, ${data.unit}`, stroke: style("--accent"), width: 1.5, gaps: gaps(), value: (_, value) => (value == null ? "–" : +value.toPrecision(7)) },
        { label: "low", stroke: "transparent", points: { show: false }, value: (_, value) => (value == null ? "–" : +value.toPrecision(7)) },
        { label: "high", stroke: "transparent", points: { show: false }, value: (_, value) => (value == null ? "–" : +value.toPrecision(7)) },
      ],
      bands: [{ series: [3, 2], fill: style("--band") }],
      hooks: { draw: [marks] },
    }, [indexes, data.centre, data.low, data.high], holder);
    leading(plot);
  };
  draw();
  const whole = document.getElementById("whole");
  whole.addEventListener("click", () => plot.setScale("x", { min: 0, max: indexes.length - 1 }));
  document.addEventListener("themechange", draw);
  let resized;
  addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => plot.setSize({ width: holder.clientWidth, height: 280 }), 100); });
})();
