"use strict";
(() => {
  const slider = document.getElementById("slider");
  const source = document.getElementById("thresholds");
  if (slider && source) {
    const every = JSON.parse(source.textContent);
    const at = (name) => document.getElementById("slider-" + name);
    const [SCORE, PROBABILITY, KEPT, PRECISION, RECALL, ALARMS, MISSES] = [0, 1, 2, 3, 4, 5, 6];
    const percent = (share) => (100 * share).toFixed(1) + " %";
    const chosen = () => every[Number(at("class").value)];
    const cost = (point) =>
      1000 * (point[ALARMS] * Number(at("alarm").value) + point[MISSES] * Number(at("miss").value));
    const threshold = (point, own) => {
      const chance = point[PROBABILITY];
      if (own && chance === null && point[SCORE] === null) return "highest score";
      if (chance !== null) return chance > 0.999 ? "> 99.9 %" : chance < 0.001 ? "< 0.1 %" : percent(chance);
      return point[SCORE] === null ? "–" : point[SCORE].toPrecision(4);
    };
    const show = () => {
      const one = chosen();
      const place = Number(at("range").value);
      const point = one.points[place];
      const unit = point[PROBABILITY] === null ? " (score)" : " (probability)";
      at("of").textContent = place === one.own ? " of the model" : unit;
      at("threshold").textContent = threshold(point, place === one.own);
      at("kept").textContent = percent(point[KEPT]);
      at("precision").textContent = percent(point[PRECISION]);
      at("recall").textContent = percent(point[RECALL]);
      at("alarms").textContent = (1000 * point[ALARMS]).toFixed(1);
      at("misses").textContent = (1000 * point[MISSES]).toFixed(1);
      at("cost").textContent = cost(point).toFixed(1);
      at("range").setAttribute("aria-valuetext", at("threshold").textContent);
    };
    const move = (place) => {
      at("range").max = chosen().points.length - 1;
      at("range").value = place;
      show();
    };
    const cheapest = () => {
      const costs = chosen().points.map(cost);
      move(costs.indexOf(Math.min(...costs)));
    };
    at("range").addEventListener("input", show);
    at("alarm").addEventListener("input", show);
    at("miss").addEventListener("input", show);
    at("class").addEventListener("change", () => move(chosen().own));
    at("own").addEventListener("click", () => move(chosen().own));
    at("cheapest").addEventListener("click", cheapest);
    slider.hidden = false;
    move(chosen().own);
  }
  for (const find of document.querySelectorAll(".find")) {
    const rows = document.getElementById(find.dataset.table).tBodies[0].rows;
    find.hidden = false;
    find.querySelector("input").addEventListener("input", (event) => {
      const sought = event.target.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(sought);
    });
  }
})();
