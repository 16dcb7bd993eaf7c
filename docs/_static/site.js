// Copy buttons, contents of a page in narrower windows, marks of wide boxes, search results without raw formulas.
"use strict";

/** Return the code of a block: of a session with prompts the input only. */
function codeOf(text) {
  const lines = text.replace(/\n+$/, "").split("\n");
  if (!lines.some(line => /^>>> /.test(line))) return lines.join("\n");
  return lines.filter(line => /^(>>>|\.\.\.)( |$)/.test(line)).map(line => line.slice(4)).join("\n");
}

function addCopyButtons() {
  for (const block of document.querySelectorAll("div.highlight")) {
    const code = block.querySelector("pre");
    if (!code || !navigator.clipboard) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the code");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(codeOf(code.textContent));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.classList.add("has-copy");
    block.append(button);
  }
}

/** Put links to the sections below the title. Style sheets show them where the sidebar has no room. */
function addContents() {
  const title = document.querySelector("article.bd-article h1");
  const sections = [...document.querySelectorAll("article.bd-article section > h2")];
  if (!title || sections.length < 3 || !document.querySelector(".bd-sidebar-secondary .page-toc")) return;
  const contents = document.createElement("nav");
  contents.className = "contents-above";
  contents.setAttribute("aria-label", "Contents of this page");
  const name = document.createElement("span");
  name.textContent = "On this page";
  contents.append(name);
  for (const heading of sections) {
    const link = document.createElement("a");
    link.href = `#${heading.parentElement.id}`;
    link.textContent = heading.firstChild.textContent && [...heading.childNodes]
      .filter(node => !node.classList?.contains("headerlink")).map(node => node.textContent).join("");
    contents.append(link);
  }
  title.after(contents);
}

/** Mark boxes whose content goes on at a side, while they are moved and when their size changes. */
function markWideBoxes() {
  const boxes = [".pst-scrollable-table-container", "div.math", "div.math mjx-container", "pre", ".scroll", ".text_html"];
  const mark = box => {
    const left = box.scrollLeft > 2;
    const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 2;
    const scrolls = getComputedStyle(box).overflowX !== "visible";
    if (scrolls && (left || right)) box.dataset.more = left && right ? "both" : left ? "left" : "right";
    else delete box.dataset.more;
  };
  const watch = () => {
    for (const box of document.querySelectorAll(boxes.join(", "))) {
      if (box.dataset.watched) continue;
      box.dataset.watched = "yes";
      box.addEventListener("scroll", () => mark(box), { passive: true });
      new ResizeObserver(() => mark(box)).observe(box);
    }
  };
  watch();
  window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(watch));
}

/** Leave formulas out of the text from which search results are cut, and cut it between words. */
function cleanSearchResults() {
  if (typeof Search === "undefined") return;
  const original = Search.htmlToText;
  const summary = Search.makeSearchSummary;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.textContent = " … ";
    for (const button of page.querySelectorAll("button.copy-code")) button.remove();
    for (const block of page.querySelectorAll("dt, dd, p, li, td, th")) block.append(" ");
    return original(page.documentElement.outerHTML, anchor).replace(/\s+/g, " ");
  };
  Search.makeSearchSummary = (...page) => {
    const found = summary(...page);
    if (found) found.textContent = found.textContent.replace(/^\.\.\.\S*\s+/, "… ").replace(/\s+\S*\.\.\.$/, " …");
    return found;
  };
}

document.addEventListener("DOMContentLoaded", () => {
  addCopyButtons();
  addContents();
  markWideBoxes();
  cleanSearchResults();
});
