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

  const matches = (searched, words) => {
    const all = text => words.every(word => text.includes(word));
    const named = text => words.every(word => text.toLowerCase().includes(word)) ? 0 : 1;
    const columns = searched.columns.filter(([name, title, story]) => all(`${name} ${title} ${story}`.toLowerCase()))
      .map(([name, title]) => [named(`${name} ${title}`), () => item(`${name}.html`, title, "column")]);
    const claims = searched.claims.filter(([name, title, , , rest]) => all(`${name} ${title} ${rest}`.toLowerCase()))
      .map(([name, title, word, sign]) => [named(`${name} ${title}`), () => item(`c/${name}.html`, title, name, [word, sign])]);
    const hypotheses = searched.hypotheses.filter(pair => all(pair.join(" ").replaceAll("_", " ").toLowerCase()))
      .map(([name, statement]) => [2, () => item(`h/${name}.html`, statement, `hypothesis ${name}`)]);
    return [...columns, ...claims, ...hypotheses].sort((a, b) => a[0] - b[0]);
  };

  const show = async () => {
    const query = box.value.trim(), words = query.toLowerCase().split(/\s+/).filter(Boolean);
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
    const hits = matches(searched, words);
    const where = `${searched.claims.length} claims, ${searched.columns.length} columns and ${searched.hypotheses.length} hypotheses`;
    said.textContent = hits.length
      ? `${hits.length} found in ${where}${hits.length > MOST ? `; the first ${MOST}` : ""}`
      : `Nothing matches “${query}” in the names, titles, verdicts, sources and hypotheses of ${where}.`;
    found.replaceChildren(...hits.slice(0, MOST).map(([, make]) => make()));
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
