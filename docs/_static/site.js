// Copy buttons, the contents of a page in narrower windows, and search results without raw formulas.
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

/** Leave formulas out of the text from which search results are cut. */
function hideFormulasInResults() {
  if (typeof Search === "undefined") return;
  const original = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.textContent = " … ";
    for (const button of page.querySelectorAll("button.copy-code")) button.remove();
    return original(page.documentElement.outerHTML, anchor);
  };
}

document.addEventListener("DOMContentLoaded", () => {
  addCopyButtons();
  addContents();
  hideFormulasInResults();
});
