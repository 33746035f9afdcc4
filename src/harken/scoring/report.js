"use strict";
// The two parts of the page that answer: the heat map of breakdowns and the replies side by side.
// Texts of the data enter the page only as text nodes, so markup in a reply stays visible and does nothing.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const replies = [...document.querySelectorAll("script.replies")].map((one) => JSON.parse(one.textContent));
  const COLOURS = 7, PAGE = 20;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in element && name !== "list") element[name] = value; else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function labelled(text, control, className = "") {
    control.setAttribute("aria-label", text);
    return className === "tick" ? make("label", { className }, control, text) : make("label", { className }, text, control);
  }

  function choice(options, title) {
    return make("select", { title }, ...options.map(([value, text]) => make("option", { value, textContent: text })));
  }

  // ---- colours ----
  const theme = document.getElementById("theme"), themes = ["system", "light", "dark"];
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "system") + 1) % themes.length];
    document.documentElement.dataset.theme = next;
    theme.textContent = `Colours: ${next}`;
  });

  // ---- heat map ----
  function heatMap(root) {
    const fields = choice(data.groups.map((group, i) => [i, group.by]), "The field to break figures down by");
    const metrics = make("select", { title: "The metric to show" });
    const shows = choice([["value", "the figures"], ["difference", `minus ${data.systems[data.baseline]}`]], "Figures or differences");
    const heat = make("div", { className: "heat" });
    const scale = make("p", { className: "scale" });
    const controls = make("div", { className: "controls" });
    if (data.groups.length > 1) controls.append(labelled("By", fields));
    controls.append(labelled("Metric", metrics));
    if (data.systems.length > 1) controls.append(labelled("Show", shows));
    root.append(controls, heat, scale);

    function listMetrics() {
      const before = metrics.value;
      metrics.replaceChildren(...data.groups[fields.value].metrics.map((one) => make("option", { value: one.name, textContent: `${one.name}: ${one.title}` })));
      if ([...metrics.options].some((one) => one.value === before)) metrics.value = before;
    }

    function parts(group) {
      const places = group.values.map((_, i) => i);
      if (group.by !== "emotion") return [["", places]];
      const of = (side) => places.filter((i) => (data.polarity[group.values[i][0]] || "other") === side);
      return [["negative", of("negative")], ["positive", of("positive")], ["other", of("other")]].filter(([, list]) => list.length);
    }

    function draw() {
      const group = data.groups[fields.value];
      const metric = group.metrics.find((one) => one.name === metrics.value);
      const minus = shows.value === "difference";
      const rows = metric.rows.map((row) => row.map((cell) => (cell === null || (minus && row[data.baseline] === null) ? null : minus ? cell - row[data.baseline] : cell)));
      const cells = rows.flat().filter((cell) => cell !== null);
      const low = Math.min(...cells), high = Math.max(...cells), far = Math.max(Math.abs(low), Math.abs(high)) || 1;
      const format = (value) => (minus && value > 0 ? "+" : "") + value.toFixed(metric.digits);
      const paint = (value) => minus
        ? `--h:var(--${value < 0 ? "negative" : "positive"});--p:${(Math.abs(value) / far * 50).toFixed(1)}%`
        : `--p:${(4 + (value - low) / (high - low || 1) * 46).toFixed(1)}%`;
      heat.replaceChildren(...parts(group).map(([side, places]) => {
        const table = make("table");
        if (side) table.append(make("caption", { textContent: side === "positive" ? "● positive" : side === "negative" ? "▲ negative" : side }));
        table.append(make("thead", {}, make("tr", {}, make("th", { scope: "col", textContent: group.by }),
          ...data.systems.map((name) => make("th", { scope: "col", textContent: name })))));
        table.append(make("tbody", {}, ...places.map((i) => {
          const [value, n] = group.values[i];
          return make("tr", {}, make("th", { scope: "row" }, value, make("small", { textContent: `n ${n}` })),
            ...rows[i].map((cell, system) => cell === null ? make("td", { textContent: "–" }) : make("td", {
              textContent: format(cell), style: paint(cell), title: `${data.systems[system]}, ${value}: ${metric.name} ${format(cell)} (n ${n})`,
            })));
        })));
        return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${metric.name} by ${group.by} ${side}` }, table);
      }));
      const ramp = minus
        ? "linear-gradient(90deg, color-mix(in oklab, var(--negative) 50%, var(--surface)), var(--surface), color-mix(in oklab, var(--positive) 50%, var(--surface)))"
        : "linear-gradient(90deg, color-mix(in oklab, var(--s0) 4%, var(--surface)), color-mix(in oklab, var(--s0) 50%, var(--surface)))";
      scale.replaceChildren(format(minus ? -far : low), make("i", { style: `background:${ramp}` }), format(minus ? far : high),
        make("span", { textContent: metric.better === "neither" ? "" : `${metric.better} is better` }));
    }

    fields.addEventListener("change", () => { listMetrics(); draw(); });
    metrics.addEventListener("change", draw);
    shows.addEventListener("change", draw);
    listMetrics();
    draw();
  }

  // ---- replies ----
  function browser(root) {
    const order = data.files.map((_, i) => i).sort((a, b) => data.files[a].system - data.files[b].system || a - b);
    const emotions = [...new Set(data.examples.map((one) => one[3]).filter(Boolean))].sort();
    const search = make("input", { type: "search", id: "search", title: "Words in contexts, responses or replies", placeholder: "words …" });
    const emotion = choice([["", "all emotions"], ...emotions.map((name) => [name, name])], "Only conversations of this emotion");
    const differ = make("input", { type: "checkbox", title: "Hide examples to which all shown systems reply alike" });
    const shared = make("input", { type: "checkbox", title: "Underline words of a reply that the gold response has too" });
    const shown = order.map((file) => make("input", { type: "checkbox", checked: true, value: file, title: `Show the replies of ${data.files[file].label}` }));
    const count = make("p", { className: "count", role: "status", "aria-live": "polite" });
    const list = make("div", { id: "talks" });
    const [first, back, next, last] = [["⏮", "First page"], ["◀", "Previous page"], ["▶", "Next page"], ["⏭", "Last page"]]
      .map(([textContent, title]) => make("button", { type: "button", textContent, title, "aria-label": title }));
    const page = make("input", { type: "number", min: 1, value: 1, title: "Page", "aria-label": "Page" });
    const pages = make("span");
    const controls = make("div", { className: "controls" }, labelled("Search", search, "wide"));
    if (emotions.length) controls.append(labelled("Emotion", emotion));
    if (data.files.length > 1) {
      controls.append(labelled("only where systems differ", differ, "tick"));
    }
    controls.append(labelled("underline words of the response", shared, "tick"));
    if (data.files.length > 1) {
      controls.append(make("fieldset", {}, make("legend", { textContent: "Show" }), ...order.map((file, i) =>
        make("label", { className: "tick" }, shown[i], make("span", {}, make("span", { className: `swatch s${data.files[file].system % COLOURS}` }), data.files[file].label)))));
    }
    root.append(controls, count, list, make("div", { className: "pages" }, first, back, make("span", {}, "Page ", page), pages, next, last));

    let found = [], at = 0, texts = null;
    const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
    const files = () => order.filter((_, i) => shown[i].checked);

    function filter() {
      const wanted = plain(search.value), chosen = files();
      if (wanted && !texts) {
        texts = data.examples.map(([id, context, response], i) => plain([id, ...context, response, ...replies.map((one) => one[i])].join("\n")));
      }
      found = [];
      data.examples.forEach(([, , , feeling], i) => {
        if (emotion.value && feeling !== emotion.value) return;
        if (wanted && !texts[i].includes(wanted)) return;
        if (differ.checked && new Set(chosen.map((file) => plain(replies[file][i]))).size < 2) return;
        found.push(i);
      });
      at = 0;
      draw();
    }

    function marked(text, gold) {
      const wanted = plain(search.value), pieces = [];
      const words = shared.checked && gold ? new Set(gold.toLowerCase().match(/[\p{L}\p{N}']+/gu) || []) : null;
      const underlined = (part) => words
        ? part.split(/([\p{L}\p{N}']+)/u).map((word) => words.has(word.toLowerCase()) ? make("u", { textContent: word }) : word)
        : [part];
      const lower = text.toLowerCase();
      let start = 0;
      for (let i; wanted && lower.length === text.length && (i = lower.indexOf(wanted, start)) >= 0; start = i + wanted.length) {
        pieces.push(...underlined(text.slice(start, i)), make("mark", { textContent: text.slice(i, i + wanted.length) }));
      }
      return [...pieces, ...underlined(text.slice(start))];
    }

    function talk(i) {
      const [id, context, response, feeling] = data.examples[i], chosen = files();
      const head = make("header", {}, make("span", { textContent: `example ${i + 1}` }), make("span", { textContent: id }));
      if (feeling) head.append(make("span", { className: `tag ${data.polarity[feeling] || ""}`, textContent: feeling }));
      const turns = context.map((text, k) => {
        const who = (context.length - k) % 2 ? "speaker" : "listener";
        return make("p", { className: `turn ${who}`, title: who }, ...marked(text));
      });
      const rows = make("dl", {}, make("dt", { className: "gold", textContent: "response" }), make("dd", { className: "gold" }, ...marked(response)));
      for (const file of chosen) {
        rows.append(make("dt", {}, make("span", { className: `swatch s${data.files[file].system % COLOURS}` }), data.files[file].label),
          make("dd", {}, ...marked(replies[file][i], response)));
      }
      return make("article", { className: "talk" }, head, ...turns, rows);
    }

    function draw() {
      const total = Math.max(1, Math.ceil(found.length / PAGE));
      at = Math.min(Math.max(0, at), total - 1);
      count.textContent = `${found.length.toLocaleString("en")} of ${data.examples.length.toLocaleString("en")} examples`;
      list.replaceChildren(...found.slice(at * PAGE, (at + 1) * PAGE).map(talk));
      page.value = at + 1;
      page.max = total;
      pages.textContent = `of ${total.toLocaleString("en")}`;
      first.disabled = back.disabled = at === 0;
      next.disabled = last.disabled = at === total - 1;
    }

    function turn(to) {
      at = to;
      draw();
      controls.scrollIntoView({ block: "start" });
    }

    let waiting;
    search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
    for (const control of [emotion, differ, ...shown]) control.addEventListener("change", filter);
    shared.addEventListener("change", draw);
    first.addEventListener("click", () => turn(0));
    back.addEventListener("click", () => turn(at - 1));
    next.addEventListener("click", () => turn(at + 1));
    last.addEventListener("click", () => turn(Infinity));
    page.addEventListener("change", () => turn((Number(page.value) || 1) - 1));
    filter();
  }

  const map = document.getElementById("map"), side = document.getElementById("browser");
  if (map) heatMap(map);
  if (side) browser(side);
})();
