// Draws the figures with Chart.js, and offers the document inside the page as a file. The numbers come from the page
// itself; without this script they stand in the tables.
"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const palette = () => [style("--accent"), style("--faint"), style("--good"), style("--open"), style("--bad")];
  const digits = (value) => Number(value.toPrecision(3));
  const marks = { claimed: "rectRot", typical: "circle", ceiling: "line" };

  const dataset = (figure, series, index) => {
    const colour = palette()[index % palette().length];
    const values = series.values.map((value) => (value === null ? null : value * figure.factor));
    const common = { label: series.name, data: values, borderColor: colour, backgroundColor: colour };
    if (series.look === "line") return { ...common, type: "line", spanGaps: true, tension: 0, borderWidth: 2, pointRadius: values.length > 40 ? 0 : 3 };
    if (series.look === "mark") {
      return { ...common, type: "line", showLine: false, pointStyle: marks[series.name] || "triangle", pointRadius: 8, borderWidth: 3, order: -1 };
    }
    return { ...common, type: "bar", maxBarThickness: 40, skipNull: true };
  };

  // Of an axis that does not begin at zero: so low that the least bar still shows.
  const lowest = (figure) => {
    const values = figure.series.flatMap((series) => series.values).filter((value) => value !== null).map((value) => value * figure.factor);
    const least = Math.min(...values);
    const most = Math.max(...values);
    return Math.max(0, Math.min(least - (most - least) / 2, most * 0.9));
  };

  const options = (figure) => {
    const grid = { color: style("--rule") };
    const text = { color: style("--ink") };
    const values = { beginAtZero: figure.from_zero, suggestedMin: figure.from_zero ? 0 : lowest(figure), grid, ticks: text, title: { display: true, text: figure.unit, ...text } };
    const labels = { grid: { display: false }, ticks: { ...text, autoSkip: !figure.horizontal },
                     title: { display: !figure.horizontal, text: figure.category, ...text } };
    return {
      responsive: true, maintainAspectRatio: false, animation: false, indexAxis: figure.horizontal ? "y" : "x",
      grouped: !figure.horizontal,
      scales: figure.horizontal ? { x: values, y: labels } : { x: labels, y: values },
      plugins: {
        legend: { labels: { ...text, usePointStyle: true } },
        tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${digits(figure.horizontal ? item.parsed.x : item.parsed.y)} ${figure.unit}` } },
      },
    };
  };

  const figures = read("figures");
  let charts = [];
  const draw = () => {
    charts.forEach((chart) => chart.destroy());
    charts = figures.map((figure) => new Chart(document.getElementById(`chart-${figure.id}`), {
      type: "bar", data: { labels: figure.labels, datasets: figure.series.map((series, index) => dataset(figure, series, index)) },
      options: options(figure),
    }));
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("figure details").forEach((details) => { details.open = true; });
    charts.forEach((chart) => chart.resize());
  });

  document.getElementById("download-link").addEventListener("click", (event) => {
    event.preventDefault();
    const name = event.currentTarget.download;
    const text = JSON.stringify(read("result"), null, 2) + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  document.documentElement.dataset.drawn = String(charts.length);
})();
