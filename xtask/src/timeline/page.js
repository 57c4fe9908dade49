"use strict";
// Zoom, cuts, keys, and the details of a bar. Without it the picture and its tables stand as they are.
(() => {
  const by = (id) => document.getElementById(id);
  const canvas = by("canvas"), scroll = by("scroll"), details = by("details");
  const lanes = [...document.querySelectorAll(".lane")].map((lane) => [...lane.querySelectorAll(".bar")]);
  const [start, end] = [Number(canvas.dataset.start), Number(canvas.dataset.end)];
  let zoom = 1;
  let picked = null;

  // Stretches of the picture: where each is in the whole, and where it is shown, in per cent; and how much time
  // it is, if it is cut out.
  const CUT = "Cut out: time in which only the grader's own work ran. The key 0 shows all, and 1 this.";
  const all = [[0, 100, 0, 100, ""]], part = JSON.parse(canvas.dataset.part);
  let view = all;
  const moved = (at, from, to) => {
    const stretch = view.find((one) => at <= one[from + 1]) ?? view.at(-1);
    const share = (at - stretch[from]) / (stretch[from + 1] - stretch[from]);
    return stretch[to] + share * (stretch[to + 1] - stretch[to]);
  };
  const shown = (at) => moved(at, 0, 2);
  const unshown = (at) => moved(at, 2, 0);

  const placed = [...canvas.querySelectorAll(".bar, .band, .head")].map((one) => {
    const left = parseFloat(one.style.left);
    return [one, left, left + parseFloat(one.style.width)];
  });
  const lines = [...canvas.querySelectorAll("line")].map((one) => [one, one.x1.baseVal.value, one.x2.baseVal.value]);

  function show(wanted) {
    view = wanted;
    for (const [one, left, right] of placed) {
      one.style.left = `${shown(left)}%`;
      if (!isNaN(right)) one.style.width = `${shown(right) - shown(left)}%`;
    }
    for (const [one, x1, x2] of lines) {
      one.setAttribute("x1", shown(x1));
      one.setAttribute("x2", shown(x2));
    }
    canvas.querySelectorAll(".cutout").forEach((one) => one.remove());
    for (const [, , from, to, cut] of view) {
      if (cut === "") continue;
      for (const chart of canvas.querySelectorAll(".lanes")) {
        const gap = document.createElement("div");
        gap.className = "cutout";
        gap.style.left = `${from}%`;
        gap.style.width = `${to - from}%`;
        gap.textContent = cut;
        chart.append(gap);
      }
    }
    by("part").hidden = part.length === 0;
    by("part").ariaPressed = String(view === part);
    by("cut").textContent = view === part ? CUT : "";
    zoomTo(1);
  }

  const middle = (bar) => parseFloat(bar.style.left) + parseFloat(bar.style.width) / 2;

  // As the page itself writes times.
  function time(nanos) {
    const size = Math.abs(nanos);
    if (size === 0) return "0";
    if (size >= 1e9) return `${nanos / 1e9} s`;
    if (size >= 1e6) return `${nanos / 1e6} ms`;
    if (size >= 1e3) return `${nanos / 1e3} us`;
    return `${nanos} ns`;
  }

  function ticks() {
    const room = Math.max(2, Math.floor(scroll.clientWidth / 110));
    const at = (share) => start + (share / 100) * (end - start);
    const kept = view.filter((one) => one[4] === "");
    // How much time a screen shows.
    const span = kept.reduce((sum, one) => sum + at(one[1]) - at(one[0]), 0) / zoom;
    let step = 1;
    while (step < span / room) step *= String(step)[0] === "2" ? 2.5 : 2;
    // Those in sight, and a screen's width on either side.
    const screen = 100 / zoom, left = (scroll.scrollLeft / canvas.clientWidth) * 100;
    const from = at(unshown(Math.max(0, left - screen))), to = at(unshown(Math.min(100, left + 2 * screen)));
    for (const axis of document.querySelectorAll(".axis")) {
      axis.replaceChildren();
      for (const [first, last] of kept) {
        const until = Math.min(to, at(last));
        for (let now = Math.ceil(Math.max(from, at(first)) / step) * step; now <= until; now += step) {
          const tick = document.createElement("i");
          tick.style.left = `${shown(((now - start) / (end - start)) * 100)}%`;
          tick.textContent = time(now);
          axis.append(tick);
          // Where there is no room for it on its right.
          if (tick.offsetLeft + tick.offsetWidth > axis.clientWidth) tick.className = "last";
        }
      }
    }
  }

  // Keeps what is picked, else the middle of the view, where it is.
  function zoomTo(wanted) {
    const width = canvas.clientWidth;
    const share = picked ? middle(picked) / 100 : (scroll.scrollLeft + scroll.clientWidth / 2) / width;
    let inView = share * width - scroll.scrollLeft;
    if (inView < 0 || inView > scroll.clientWidth) inView = scroll.clientWidth / 2;
    zoom = Math.min(Math.max(wanted, 1), 20000);
    canvas.style.width = `${zoom * 100}%`;
    scroll.scrollLeft = share * canvas.clientWidth - inView;
    ticks();
  }

  function pick(bar, focus) {
    if (!bar) return;
    if (picked) { picked.classList.remove("picked"); picked.tabIndex = -1; }
    picked = bar;
    bar.classList.add("picked");
    bar.tabIndex = 0;
    describe(bar);
    if (focus) bar.focus({ preventScroll: true });
    const view = scroll.getBoundingClientRect(), box = bar.getBoundingClientRect();
    if (box.left < view.left || box.left > view.right - 20) {
      scroll.scrollLeft += box.left - view.left - view.width / 3;
    }
    const room = innerHeight - details.offsetHeight;
    if (box.top < 0 || box.bottom > room) scrollBy(0, box.bottom - room / 2);
  }

  function describe(bar) {
    const row = by(bar.dataset.row);
    const names = [...row.closest("table").querySelectorAll("thead th")].map((th) => th.textContent);
    const list = document.createElement("dl");
    [...row.cells].forEach((cell, index) => {
      if (index === 0 || cell.textContent === "") return;
      const pair = document.createElement("div");
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = names[index];
      text.textContent = cell.textContent;
      pair.className = names[index].toLowerCase();
      pair.append(term, text);
      list.append(pair);
    });
    const title = document.createElement("h2");
    title.textContent = row.cells[0].textContent;
    const nav = document.createElement("nav");
    for (const [text, step] of [["Previous", -1], ["Next", 1]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => {
        pick(along(step), false);
        details.querySelectorAll("button")[step < 0 ? 0 : 1].focus({ preventScroll: true });
      });
      nav.append(button);
    }
    details.hidden = false;
    const top = document.createElement("div");
    top.className = "top";
    top.append(title, nav);
    details.replaceChildren(top, list);
  }

  const laneOf = (bar) => lanes.findIndex((lane) => lane.includes(bar));
  const along = (by) => {
    const lane = lanes[laneOf(picked)];
    return lane[lane.indexOf(picked) + by];
  };
  const across = (by) => {
    let lane = laneOf(picked) + by;
    while (lanes[lane] && lanes[lane].length === 0) lane += by;
    const far = (bar) => Math.abs(middle(bar) - middle(picked));
    return lanes[lane]?.reduce((best, bar) => (far(bar) < far(best) ? bar : best));
  };

  const keys = {
    ArrowLeft: () => pick(along(-1), true),
    ArrowRight: () => pick(along(1), true),
    ArrowUp: () => pick(across(-1), true),
    ArrowDown: () => pick(across(1), true),
    Home: () => pick(lanes[laneOf(picked)][0], true),
    End: () => pick(lanes[laneOf(picked)].at(-1), true),
    "+": () => zoomTo(zoom * 2),
    "=": () => zoomTo(zoom * 2),
    "-": () => zoomTo(zoom / 2),
    "0": () => show(all),
    "1": () => { if (part.length > 0) show(part); },
  };
  canvas.addEventListener("keydown", (event) => {
    const does = keys[event.key];
    if (!does || !picked || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  });
  canvas.addEventListener("click", (event) => pick(event.target.closest(".bar"), true));
  canvas.addEventListener("focusin", (event) => {
    const bar = event.target.closest(".bar");
    if (bar && bar !== picked) pick(bar, false);
  });
  document.addEventListener("click", (event) => {
    const wanted = event.target.closest("[data-show]")?.dataset.show;
    if (wanted) pick(document.querySelector(`.bar[data-row="${wanted}"]`), true);
  });
  by("in").addEventListener("click", () => zoomTo(zoom * 2));
  by("out").addEventListener("click", () => zoomTo(zoom / 2));
  by("fit").addEventListener("click", () => show(all));
  by("part").addEventListener("click", () => show(part));
  let waiting = false;
  scroll.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; ticks(); });
  });
  addEventListener("resize", ticks);

  by("tools").hidden = false;
  const first = lanes.find((lane) => lane.length > 0)?.[0];
  if (first) first.tabIndex = 0;
  show(part.length > 0 ? part : all);
})();
