"use strict";
(() => {
  const MOST = 60;
  const root = document.documentElement.dataset.root;
  const box = document.getElementById("search"), panel = document.getElementById("results");
  const said = document.getElementById("said"), found = document.getElementById("found");

  // what is searched is loaded when it is first asked for, by a script: pages from a file may load nothing else
  let loading = null;
  const load = () => loading ??= new Promise((ready, failed) => {
    const script = document.createElement("script");
    script.src = `${root}data/search.js`;
    script.onload = () => ready(window.SEARCHED);
    script.onerror = () => failed(new Error(`${script.src} cannot be loaded`));
    document.head.append(script);
  });

  const item = (href, text, name, badge) => {
    const line = document.createElement("li"), link = document.createElement("a");
    link.href = root + href;
    if (badge) {
      const mark = document.createElement("span");
      mark.className = `badge ${badge[0]}`;
      mark.textContent = `${badge[1]} ${badge[0]}`;
      link.append(mark, " ");
    }
    const title = document.createElement("span"), code = document.createElement("code");
    title.textContent = text;
    code.textContent = name;
    link.append(title, " ", code);
    line.append(link);
    return line;
  };

  // one spelling: without hyphens, with -ize for -ise; a word of a query stands for what it is written as elsewhere, too
  const plain = text => text.toLowerCase().replace(/[-\u2010-\u2013_]/g, "")
    .replace(/(?<=\p{L}{3})is(?=e|i|a|or|\b)/gu, "iz");
  const SAME = {
    bf16: ["bfloat16"], fp16: ["float16", "half"], fp32: ["float32"], fp8: ["float8", "e4m3"], int8: ["8 bits", "eight bits"],
    int4: ["4 bits", "four bits"], ef: ["error feedback"], signsgd: ["sign"], qgz: ["zero++"], mx: ["microscaling"],
    svd: ["singular value"], staleness: ["delay"], dropout: ["lost"], bandwidth: ["words"], traffic: ["words"],
    wire: ["bits"], size: ["words"], communication: ["words"], volume: ["words"], mixing: ["distortion"], unbiasedness: ["unbiased"], contraction: ["contract"], sparsification: ["sparsif"],
    quantization: ["quantiz"], straggler: ["slowest"], noise: ["variance"], residual: ["memory"],
  };
  const forms = word => {
    const bare = plain(word), parts = word.toLowerCase().split(/[-\u2010-\u2013]/).filter(Boolean);
    const stem = bare.length > 3 && /[^s]s$/.test(bare) ? bare.slice(0, -1) : bare;
    const others = [bare, stem].flatMap(one => Object.hasOwn(SAME, one) ? SAME[one] : []);
    return [[stem], ...(parts.length > 1 && parts.every(part => part.length > 1) ? [parts.map(plain)] : []),
      ...others.map(other => other.split(" ").map(plain))];
  };
  const FILLERS = new Set("a an and by for from how in is it of on the to what with".split(" "));
  const has = (text, alternatives) => alternatives.some(parts => parts.every(part => text.includes(part)));

  // what has most of the words comes first, then what has them in name and title; with all words, if anything has them all
  const matches = (searched, words) => {
    const asked = words.map(forms), strict = words.some(word => word.includes(":"));
    const judged = (name, title, rest, make) => {
      const named = plain(`${name} ${title}`), all = `${named} ${plain(rest)}`;
      const count = text => asked.filter(alternatives => has(text, alternatives)).length;
      const exact = plain(name) === plain(words.join(" ")) ? 2 : words.includes(name) ? 1 : 0; // the whole query, or a column
      return { hits: count(all), score: exact + count(named) / words.length, make };
    };
    const titles = new Map(searched.columns.map(([name, title]) => [name, title]));
    const candidates = [
      ...searched.columns.map(([name, title, story]) =>
        judged(name, title, story, () => item(`${name}.html`, title, "column"))),
      ...searched.claims.map(([name, title, word, sign, rest]) =>
        judged(name, title, `${rest} ${titles.get(name.split(".")[0]) ?? ""}`,
          () => item(`c/${name}.html`, title, name, [word, sign]))),
      ...searched.hypotheses.map(([name, statement]) =>
        judged("", "", `${name.replaceAll("_", " ")} ${statement}`, () => item(`h/${name}.html`, statement, `hypothesis ${name}`))),
    ];
    const most = Math.max(0, ...candidates.map(one => one.hits)), whole = most === words.length;
    if (!whole && (strict || 2 * most < words.length)) return { hits: [], whole };
    const hits = candidates.filter(one => one.hits && one.hits === most).sort((a, b) => b.score - a.score);
    return { hits: hits.map(one => one.make), whole };
  };

  const show = async () => {
    const query = box.value.trim(), typed = query.toLowerCase().split(/\s+/).filter(Boolean);
    const telling = typed.filter(word => !FILLERS.has(word)), words = telling.length ? telling : typed;
    if (!words.length) {
      panel.hidden = true;
      return;
    }
    let searched;
    try {
      searched = await load();
    } catch (error) {
      said.textContent = `Nothing can be searched: ${error.message}.`;
      panel.hidden = false;
      return;
    }
    if (query !== box.value.trim()) return; // there is more by now
    const { hits, whole } = matches(searched, words);
    const where = `${searched.claims.length} claims, ${searched.columns.length} columns and ${searched.hypotheses.length} hypotheses`;
    said.textContent = hits.length
      ? `${hits.length} found in ${where}${whole ? "" : " with most of these words"}${hits.length > MOST ? `; the first ${MOST}` : ""}`
      : `Nothing matches “${query}” in the names, titles, verdicts, sources and hypotheses of ${where}.`;
    found.replaceChildren(...hits.slice(0, MOST).map(make => make()));
    panel.hidden = false;
    panel.scrollTop = 0;
  };

  const close = () => { box.value = ""; panel.hidden = true; };

  box.addEventListener("input", show);
  box.addEventListener("focus", () => load().then(() => {}, () => {}));
  box.form.addEventListener("submit", event => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  document.addEventListener("keydown", event => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "Escape" && !panel.hidden) {
      close();
      box.focus();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !panel.hidden) {
      const stops = [box, ...found.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      stops[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), stops.length - 1)].focus();
    }
  });
  document.addEventListener("click", event => {
    if (!event.target.closest(".top")) panel.hidden = true;
  });

  // a search has an address, and tiles are searches
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    box.value = asked;
    show();
  }
  for (const link of document.querySelectorAll('a[href*="index.html?q="]'))
    link.addEventListener("click", event => {
      event.preventDefault();
      event.stopPropagation();
      box.value = new URL(link.href).searchParams.get("q");
      box.focus();
      show();
    });

  // an address of one row opens it; one of the single page's sections leads to the claim's own page
  const reveal = async () => {
    const name = decodeURIComponent(location.hash.slice(1)), target = name && document.getElementById(name);
    if (target) {
      if (target.tagName === "DETAILS") target.open = true;
      target.scrollIntoView();
    } else if (name.includes(".")) {
      const { claims } = await load();
      if (claims.some(claim => claim[0] === name)) location.replace(`${root}c/${name}.html`);
    }
  };
  if (location.hash) reveal();
  window.addEventListener("hashchange", reveal);

  // what is folded is printed too
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  window.addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
})();
