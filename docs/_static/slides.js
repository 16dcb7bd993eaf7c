// Slides: one at a time, by keys, clicks, swipes and buttons. The number of the slide is the anchor of the address.
"use strict";

document.documentElement.classList.add("running");
const SMALLEST = 20;
const slides = [...document.querySelectorAll(".slide")];
const stage = document.querySelector(".slides");
let place = 0;

function show(number) {
  place = Math.min(Math.max(number, 0), slides.length - 1);
  slides.forEach((slide, i) => slide.classList.toggle("shown", i === place));
  history.replaceState(null, "", `#${place + 1}`);
}

function showAnchor() {
  show((parseInt(location.hash.slice(1), 10) || 1) - 1);
  window.scrollTo(0, 0);
}

function scale() {
  const factor = Math.min(innerWidth / 1280, innerHeight / 720);
  stage.style.transform = `scale(${factor}) translate(-50%, -50%)`;
}

/** Make the text of a box smaller until it fits, not below a size that can be read. */
function shrink(box, isFull) {
  let size = parseFloat(getComputedStyle(box).fontSize);
  while (size > SMALLEST && isFull(box)) {
    size -= 1;
    box.style.fontSize = `${size}px`;
  }
}

function fit() {
  for (const box of document.querySelectorAll("div.math")) shrink(box, formula => formula.scrollWidth > formula.clientWidth + 1);
  for (const box of document.querySelectorAll(".slide > .body")) shrink(box, body => body.scrollHeight > body.clientHeight + 1);
}

const KEYS = {
  ArrowRight: 1, ArrowDown: 1, PageDown: 1, Enter: 1, " ": 1,
  ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1, Home: -Infinity, End: Infinity,
};

document.addEventListener("keydown", event => {
  const step = KEYS[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("a, button") && (event.key === "Enter" || event.key === " ")) return;
  event.preventDefault();
  show(place + (event.shiftKey && event.key === " " ? -1 : step));
});

stage.addEventListener("click", event => {
  if (event.target.closest("a, button") || String(getSelection())) return;
  show(place + (event.clientX < innerWidth / 4 ? -1 : 1));
});

let touched = null;
stage.addEventListener("touchstart", event => { touched = event.changedTouches[0]; }, {passive: true});
stage.addEventListener("touchend", event => {
  const moved = event.changedTouches[0].clientX - touched.clientX;
  if (Math.abs(moved) < 40) return; // a tap is a click
  event.preventDefault();
  show(place - Math.sign(moved));
});

function addButtons() {
  const bar = document.createElement("nav");
  bar.className = "turn";
  bar.setAttribute("aria-label", "Slides");
  for (const [sign, name, step] of [["‹", "Previous slide", -1], ["›", "Next slide", 1]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", () => show(place + step));
    bar.append(button);
  }
  document.body.append(bar);
}

addEventListener("resize", scale);
addEventListener("hashchange", showAnchor);
addButtons();
scale();
showAnchor();
// The formulas have the size of the text.
window.MathJax.chtml = {matchFontHeight: false, scale: 1.1};
window.MathJax.startup = {pageReady: () => window.MathJax.startup.defaultPageReady().then(fit)};
