// The front end of the playground, for a notebook (anywidget) and for a browser (priorsvm play).
//
// One document, `state`, has all points, shapes and settings. After every change it is sent to Python, and
// the answer is drawn. No other page or script is loaded, and nothing is computed here but the drawing.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";
const CLASSES = ["class 0, circle", "class 1, triangle"];
const SIGNS = ["●", "▲"];
const NUDGE = 0.1; // step of the arrow keys
const SMALLEST = 0.15; // smallest half-width of a shape

const STYLE = `
.pp { --c0: #0072B2; --c1: #D55E00; --ink: #17202a; --dim: #56616d; --paper: #ffffff; --panel: #f3f5f8;
  --rule: #d5dbe2; --accent: #005a8c; --bad: #9b1c1c; --badpaper: #fdeeee; --bar: #7d8a98;
  container-type: inline-size; color-scheme: light; color: var(--ink); background: var(--paper);
  font: 15px/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.pp[data-theme="dark"] { color-scheme: dark; --c0: #56B4E9; --c1: #E69F00; --ink: #eef2f6; --dim: #a9b4bf; --paper: #11161c;
  --panel: #1b222b; --rule: #3a4552; --accent: #7cc7f2; --bad: #ffb4a8; --badpaper: #3a1a17; --bar: #8a97a5; }
.pp *, .pp *::before { box-sizing: border-box; }
.pp-frame { padding: 14px 18px 20px; max-width: 1500px; margin: 0 auto; }
.pp h2 { font-size: 1.25em; margin: 0; font-weight: 650; }
.pp h3 { font-size: .8em; margin: 0 0 6px; color: var(--dim); text-transform: uppercase; letter-spacing: .06em; }
.pp-head { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin-bottom: 10px; }
.pp-try { flex: 1 0 100%; margin: 0; color: var(--dim); }
.pp-main { display: grid; gap: 16px; }
.pp-card { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; padding: 10px 12px; min-width: 0; }
.pp-side { display: grid; gap: 12px; align-content: start; min-width: 0; }
.pp-groups { display: grid; gap: 12px; }
@container (max-width: 479px) { .pp-track { display: none; } .pp-frame { padding: 10px; } }
@container (min-width: 480px) { .pp-groups { grid-template-columns: 1fr 1fr; } }
@container (min-width: 860px) {
  .pp-main { grid-template: auto 1fr / minmax(400px, 1fr) 1fr; }
  .pp-side { grid-column: 2; grid-row: 1 / span 2; } }
.pp-tools { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 8px; align-items: center; }
.pp fieldset { display: inline-flex; border: 1px solid var(--rule); border-radius: 7px; padding: 0; margin: 0; overflow: hidden; }
.pp fieldset legend { position: absolute; left: -99in; }
.pp fieldset label { padding: 5px 9px; cursor: pointer; white-space: nowrap; }
.pp fieldset input { position: absolute; opacity: 0; }
.pp fieldset label:has(:checked) { background: var(--accent); color: var(--paper); }
.pp fieldset label:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: -3px; box-shadow: inset 0 0 0 5px var(--paper); }
.pp button, .pp select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--rule);
  border-radius: 7px; padding: 4px 10px; cursor: pointer; max-width: 100%; }
.pp button:disabled { opacity: .45; cursor: default; }
.pp :is(button, select, input[type=range]):focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
.pp-plot { position: relative; }
.pp svg.pp-plane { display: block; width: 100%; border: 1px solid var(--rule); border-radius: 8px; background: var(--paper);
  touch-action: none; user-select: none; cursor: crosshair; overflow: clip; }
.pp-item { cursor: grab; outline: none; }
.pp-item .pp-focus { display: none; }
.pp-item:focus-visible .pp-focus, .pp-item.pp-chosen .pp-focus { display: inline; }
.pp-label { font-size: .2px; fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: .055px; stroke-linejoin: round; }
.pp-error { max-height: 12em; overflow: auto; margin: 8px 0 0; padding: 9px 13px;
  border: 1.5px solid var(--bad); border-radius: 8px; background: var(--badpaper); color: var(--bad); overflow-wrap: anywhere; }
.pp-error:empty { display: none; }
.pp-notes { margin: 6px 0 0; padding-left: 1.1em; color: var(--dim); font-size: .88em; }
.pp-notes:empty { display: none; }
.pp-legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin-top: 7px; color: var(--dim); font-size: .84em; }
.pp-legend svg { width: 26px; height: 14px; vertical-align: -2px; margin-right: 4px; overflow: visible; }
.pp-field { display: grid; grid-template-columns: 1fr auto; gap: 0 8px; margin-bottom: 7px; align-items: center; }
.pp-field input { grid-column: 1 / -1; width: 100%; margin: 1px 0 0; accent-color: var(--accent); }
.pp-field.pp-choice { grid-template-columns: auto minmax(0, 1fr); }
.pp-field select { width: 100%; }
.pp-field output { font-variant-numeric: tabular-nums; font-weight: 650; }
.pp-field[hidden] { display: none; }
.pp-picked { display: flex; flex-wrap: wrap; gap: 6px 10px; align-content: center; align-items: center; min-height: 84px; }
.pp-status { font-variant-numeric: tabular-nums; margin: 0; }
.pp table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93em; background: none; }
.pp th, .pp td { text-align: right; padding: 2px 6px; border-bottom: 1px solid var(--rule); white-space: nowrap; background: none; color: inherit; }
.pp :is(th, td):first-child { text-align: left; padding-left: 0; }
.pp th { font-weight: 500; color: var(--dim); }
.pp-share > div { display: flex; gap: 8px; align-items: center; }
.pp-share span:last-child { flex: 0 0 3.6em; }
.pp-track { flex: 1; }
.pp-bar { display: block; height: 11px; background: var(--bar); border-radius: 2px; }
.pp-bar.pp-prior { background: repeating-linear-gradient(45deg, var(--c1) 0 4px, transparent 4px 6px) var(--panel); }
.pp td.pp-share { width: 34%; }
.pp-scroll { overflow-x: auto; }
.pp-formula { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 5px 10px; align-items: baseline; }
.pp-formula > div { overflow: auto hidden; padding: 2px 0; }
.pp-formula math { font-size: 1.15em; font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "TeX Gyre DejaVu Math", math; }
.pp-formula mo[largeop] { font-size: 1.45em; }
.pp-formula .pp-role { color: var(--dim); }
.pp-formula small { color: var(--dim); margin-left: 10px; white-space: nowrap; }
.pp pre { margin: 0; padding: 0; overflow: auto; max-height: 330px; font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace;
  background: none; color: inherit; border: 0; }
.pp-title { display: flex; justify-content: space-between; align-items: center; margin-bottom: 6px; }
.pp-title h3 { margin: 0; }
.pp-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
`;

// ---------------------------------------------------------------------------------------- small helpers

// Return a new element; `attributes` are set as they are, children are elements or texts.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) target.setAttribute(name, value);
}

// Return a tree [tag, {attributes}?, child, ...] of Python as MathML elements.
function mathml([tag, ...rest]) {
  const made = document.createElementNS(MATHML, tag);
  for (const child of rest) {
    if (Array.isArray(child)) made.append(mathml(child));
    else if (typeof child === "object") set(made, child);
    else made.append(child);
  }
  return made;
}

// Keep as many children in a group as there are entries, so that focus stays where it is, and update each.
function sync(group, entries, make, update) {
  while (group.children.length > entries.length) group.lastChild.remove();
  while (group.children.length < entries.length) group.append(make());
  entries.forEach((entry, k) => update(group.children[k], entry, k));
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const round = (value) => Math.round(value * 100) / 100;
const short = (value) => (Math.abs(value) < 1e-6 ? "0" : String(Number(value.toPrecision(3))));

// The y-axis of SVG points down.
const path = (numbers) => {
  let text = "";
  for (let k = 0; k < numbers.length; k += 2) text += `${k ? "L" : "M"}${numbers[k]} ${-numbers[k + 1]}`;
  return text;
};

// A point without a class has the label null.
const signOf = (label) => SIGNS[label] ?? "□";
const className = (label) => CLASSES[label] ?? "unlabelled, square";
const colourOf = (label) => `var(--${label === null ? "dim" : `c${label}`})`;

// Outline of a point: a circle, a triangle or a square, so that classes differ without colours.
const marker = (label, r) =>
  label === null
    ? `M${-r} ${-r}H${r}V${r}H${-r}Z`
    : label === 0
    ? `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`
    : `M0 ${-1.25 * r}L${1.15 * r} ${0.8 * r}L${-1.15 * r} ${0.8 * r}Z`;

// ---------------------------------------------------------------------------------------- the playground

// Build the playground in `root`. `start` has controls and presets; `answerTo(state)` is the answer of Python.
function playground(root, start, answerTo) {
  const edge = start.edge;
  let state = null;
  let answer = null;
  let chosen = null; // ["points" or "shapes", index]
  let drag = null;
  let lesson = 0; // index of the preset
  let past = []; // earlier states and their presets, for undo
  let wanted = null; // the draft flag of the next request; null if nothing changed
  let busy = false;

  root.classList.add("pp");
  const themes = followTheme(root);
  const ui = layout(root, start);
  const controls = start.fields.map((field) => control(field, ui.groups[field.group], changeSetting));
  const layers = planeLayers(ui.plane, edge);

  // ------------------------------------------------------------------------------------ requests and answers

  // Send the newest state. While an answer is awaited further changes wait, and only the last one is sent.
  async function refresh(draft) {
    wanted = draft;
    drawItems();
    if (busy) return;
    busy = true;
    root.setAttribute("aria-busy", "true");
    while (wanted !== null) {
      const request = { ...state, draft: wanted };
      wanted = null;
      const sent = performance.now();
      try {
        show(await answerTo(request), performance.now() - sent);
      } catch (error) {
        show({ error: `No answer from Python: ${error.message}`, code: null }, 0);
      }
    }
    busy = false;
    root.setAttribute("aria-busy", "false");
  }

  function show(found, milliseconds) {
    answer = found;
    root.dataset.answers = Number(root.dataset.answers || 0) + 1;
    root.dataset.milliseconds = milliseconds.toFixed(1);
    drawModel();
    drawItems();
    ui.error.textContent = found.error || "";
    sync(ui.notes, found.notes || [], () => element("li"), (line, text) => (line.textContent = text));
    ui.status.textContent = found.error
      ? "No model: see the message below the plane."
      : `${found.draft ? "Draft" : "Solved"}: ${found.solver}, ${found.status}, ` +
        `${found.rounds} round${found.rounds > 1 ? "s" : ""}. Objective ${short(found.objective)}. ` +
        `Shown after ${milliseconds.toFixed(0)} ms.`;
    showTerms(ui.terms, found.terms || []);
    showFormula(ui.formula, found.formula || []);
    ui.code.textContent = found.code || "";
    ui.copyFormula.disabled = !found.latex;
    ui.copyCode.disabled = !found.code;
  }

  // ------------------------------------------------------------------------------------ changes of the state

  function remember() {
    past = [...past.slice(-49), JSON.stringify([state, lesson])];
    ui.undo.disabled = false;
  }

  function undo() {
    if (!past.length) return;
    [state, lesson] = JSON.parse(past.pop());
    ui.undo.disabled = !past.length;
    begin();
  }

  function load(index) {
    if (state) remember();
    lesson = index;
    state = structuredClone(start.presets[index].state);
    begin();
  }

  function begin() {
    chosen = null;
    ui.presets.selectedIndex = lesson;
    ui.text.textContent = start.presets[lesson].text;
    showSettings();
    refresh(false);
  }

  function changeSetting(name, value, draft) {
    // A slider sends many values; undo goes back to the value before the first of them.
    if (!drag || drag.setting !== name) remember();
    drag = draft ? { setting: name } : null;
    state[name] = value;
    showSettings();
    refresh(draft);
  }

  function showSettings() {
    for (const shown of controls) shown(state);
  }

  function add(kind, label, centre, half = [0.7, 0.7]) {
    const isPoint = kind === "point" || kind === "unlabelled";
    const list = isPoint ? "points" : "shapes";
    if (state[list].length >= start.most[list]) {
      ui.error.textContent = `There are at most ${start.most[list]} ${list}.`;
      return false;
    }
    remember();
    const place = centre.map((x) => round(clamp(x, -edge, edge)));
    state[list].push(isPoint ? [...place, kind === "point" ? label : null] : { kind, label, form: "hard", centre: place, half });
    chosen = [list, state[list].length - 1];
    return true;
  }

  function remove() {
    if (!chosen) return;
    remember();
    state[chosen[0]].splice(chosen[1], 1);
    chosen = null;
    refresh(false);
  }

  function switchClass() {
    if (!chosen) return;
    remember();
    const item = state[chosen[0]][chosen[1]];
    if (chosen[0] === "points") item[2] = item[2] === 0 ? 1 : 0;
    else item.label = 1 - item.label;
    refresh(false);
  }

  function setForm(form) {
    if (!chosen || chosen[0] !== "shapes") return;
    remember();
    state.shapes[chosen[1]].form = form;
    refresh(false);
  }

  function nextForm() {
    if (!chosen || chosen[0] !== "shapes") return;
    const forms = start.forms.map(([form]) => form);
    setForm(forms[(forms.indexOf(state.shapes[chosen[1]].form) + 1) % forms.length]);
  }

  // Move an item to a place, within the window.
  function moveTo([list, k], x0, x1) {
    const place = [round(clamp(x0, -edge, edge)), round(clamp(x1, -edge, edge))];
    if (list === "points") state.points[k].splice(0, 2, ...place);
    else state.shapes[k].centre = place;
  }

  const placeOf = ([list, k]) => (list === "points" ? state.points[k].slice(0, 2) : state.shapes[k].centre);

  // ------------------------------------------------------------------------------------ mouse, pen and finger

  function place(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(ui.plane.getScreenCTM().inverse());
    return [at.x, -at.y];
  }

  function itemOf(target) {
    const found = target.closest("[data-item]");
    if (!found) return null;
    const [list, k] = found.dataset.item.split(" ");
    return [list, Number(k)];
  }

  const drawsShape = (tool) => tool === "box" || tool === "ellipse";

  ui.plane.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !state) return;
    const at = place(event);
    const corner = event.target.dataset.corner;
    const item = itemOf(event.target);
    const tool = ui.tool();
    ui.plane.setPointerCapture(event.pointerId);
    if (corner) {
      const { centre, half } = state.shapes[chosen[1]];
      const [s0, s1] = corner.split(" ").map(Number);
      // The opposite corner stays where it is.
      drag = { kind: "corner", fixed: [centre[0] - s0 * half[0], centre[1] - s1 * half[1]], item: chosen };
    } else if (item) {
      chosen = item;
      const from = placeOf(item);
      drag = { kind: "move", item, offset: [from[0] - at[0], from[1] - at[1]], at, inside: item[0] === "shapes" };
    } else {
      drag = { kind: drawsShape(tool) ? "draw" : "point", at, tool };
    }
    drawItems();
  });

  ui.plane.addEventListener("pointermove", (event) => {
    if (!drag || !drag.kind || !ui.plane.hasPointerCapture(event.pointerId)) return;
    const at = place(event);
    if (!drag.moved) {
      const pixel = 1 / ui.plane.getScreenCTM().a;
      if (Math.hypot(at[0] - (drag.at || at)[0], at[1] - (drag.at || at)[1]) < 4 * pixel && drag.at) return;
      drag.moved = true;
      if (drag.kind === "draw") {
        if (!add(drag.tool, ui.label(), drag.at, [SMALLEST, SMALLEST])) return (drag = null);
        drag = { ...drag, kind: "corner", fixed: drag.at, item: chosen };
      } else if (drag.kind !== "point") remember();
    }
    if (drag.kind === "move") moveTo(drag.item, at[0] + drag.offset[0], at[1] + drag.offset[1]);
    else if (drag.kind === "corner") stretch(state.shapes[drag.item[1]], drag.fixed, at);
    else return;
    refresh(true);
  });

  ui.plane.addEventListener("pointerup", (event) => {
    if (!drag || !drag.kind) return;
    const { kind, moved, inside, at, tool } = drag;
    drag = null;
    const click = !moved && (kind === "point" || (kind === "move" && inside && !drawsShape(ui.tool())));
    if (click && add(ui.tool(), ui.label(), at)) refresh(false);
    else if (!moved && kind === "draw" && add(tool, ui.label(), at)) refresh(false);
    else if (moved) refresh(false);
    if (chosen) layers[chosen[0]].children[chosen[1]]?.focus({ preventScroll: true, focusVisible: false });
  });
  ui.plane.addEventListener("pointercancel", () => {
    drag = null;
    refresh(false);
  });

  // Give a shape the corners `fixed` and `at`.
  function stretch(shape, fixed, at) {
    const to = at.map((x) => clamp(x, -edge, edge));
    shape.centre = to.map((x, j) => round((x + fixed[j]) / 2));
    shape.half = to.map((x, j) => Math.max(SMALLEST, round(Math.abs(x - fixed[j]) / 2)));
  }

  // ------------------------------------------------------------------------------------ keyboard

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

  // On the parent, because an SVG element that listens to focus becomes a stop of the Tab key.
  ui.plane.parentElement.addEventListener("focusin", (event) => {
    chosen = itemOf(event.target);
    drawItems();
  });

  ui.plane.addEventListener("keydown", (event) => {
    const item = itemOf(event.target);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    chosen = item;
    const step = ARROWS[event.key];
    const shape = item[0] === "shapes" ? state.shapes[item[1]] : null;
    if (step) {
      remember();
      if (event.shiftKey && shape) {
        shape.half = shape.half.map((h, j) => round(clamp(h + NUDGE * step[j], SMALLEST, edge)));
      } else {
        const size = event.shiftKey ? 5 * NUDGE : NUDGE;
        const [x0, x1] = placeOf(item);
        moveTo(item, x0 + size * step[0], x1 + size * step[1]);
      }
      refresh(event.repeat);
    } else if (event.key === "Delete" || event.key === "Backspace") remove();
    else if (event.key === "c" || event.key === "C") switchClass();
    else if ((event.key === "h" || event.key === "H") && shape) nextForm();
    else return;
    event.preventDefault();
  });
  // A held key sends drafts; the last one is settled when the key is released.
  ui.plane.addEventListener("keyup", (event) => ARROWS[event.key] && itemOf(event.target) && refresh(false));

  root.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      undo();
    }
  });

  ui.undo.addEventListener("click", undo);
  ui.add.addEventListener("click", () => {
    if (!add(ui.tool(), ui.label(), [0, 0])) return;
    refresh(false);
    layers[chosen[0]].children[chosen[1]].focus();
  });
  ui.presets.addEventListener("change", () => load(ui.presets.selectedIndex));
  ui.copyCode.addEventListener("click", () => copy(ui.copyCode, answer.code));
  ui.copyFormula.addEventListener("click", () => copy(ui.copyFormula, answer.latex));

  // ------------------------------------------------------------------------------------ drawing

  // Draw what Python found: areas, border, margins, rows of blocks, slacks.
  function drawModel() {
    const areas = answer.areas || [[], []];
    areas.forEach((rings, k) => layers.areas.children[k].setAttribute("d", rings.map((ring) => `${path(ring)}Z`).join("")));
    ["-1", "0", "1"].forEach((level, k) => {
      const lines = answer.lines ? answer.lines[level] : [];
      layers.lines.children[k].setAttribute("d", lines.map(path).join(""));
    });
    sync(
      layers.added,
      answer.added || [],
      () => drawn("path", { fill: "none", "stroke-width": 1.1, "vector-effect": "non-scaling-stroke", opacity: 0.75 }),
      (mark, [x0, x1, label]) =>
        set(mark, { d: marker(label, 0.055), transform: `translate(${x0} ${-x1})`, stroke: `var(--c${label})` }),
    );
    sync(
      layers.curves,
      answer.curves || [],
      () => drawn("path", { fill: "none", "stroke-width": 1.1, "vector-effect": "non-scaling-stroke", opacity: 0.55 }),
      (curve, found) => set(curve, { d: path(found.path), stroke: `var(--c${found.label})` }),
    );
    sync(
      layers.active,
      answer.active || [],
      () => drawn("path", { d: "M0 -.12L.12 0L0 .12L-.12 0Z", fill: "none", stroke: "var(--ink)", "stroke-width": 1.6,
        "vector-effect": "non-scaling-stroke" }),
      (mark, [x0, x1]) => set(mark, { transform: `translate(${x0} ${-x1})` }),
    );
    const worst = (answer.shapes || []).filter((shape) => Math.abs(shape.worst) < 1e6);
    if (answer.conflict) worst.push({ where: answer.conflict, holds: false });
    sync(
      layers.worst,
      worst,
      () => drawn("path", { "stroke-width": 2.4, "vector-effect": "non-scaling-stroke", stroke: "var(--ink)" }),
      (mark, { where, holds }) =>
        set(mark, {
          d: holds ? "M-.1 0H.1M0 -.1V.1" : "M-.09 -.09L.09 .09M-.09 .09L.09 -.09",
          transform: `translate(${where[0]} ${-where[1]})`,
        }),
    );
  }

  // Draw points and shapes from the state, at once, with what is known about them from the last answer.
  function drawItems() {
    const rows = answer && answer.rows && answer.rows.length === state.points.length ? answer.rows : null;
    const most = rows ? Math.max(...rows.map((row) => row.price || 0), 1e-12) : 1;
    const slacks = rows ? rows.map((row, k) => [row, state.points[k]]).filter(([row]) => row.foot) : [];
    sync(
      layers.slacks,
      slacks,
      () => drawn("line", { "stroke-width": 1.4, "stroke-dasharray": "3 3", "vector-effect": "non-scaling-stroke" }),
      (line, [row, [x0, x1, label]]) =>
        set(line, { x1: x0, y1: -x1, x2: row.foot[0], y2: -row.foot[1], stroke: `var(--c${label})` }),
    );
    sync(layers.points, state.points, makePoint, (group, [x0, x1, label], k) => {
      const row = rows && rows[k];
      const [hit, focus, ring, mark] = group.children;
      set(group, {
        transform: `translate(${x0} ${-x1})`,
        "data-item": `points ${k}`,
        "aria-label": `${rowName(label, k)}, ${className(label)}, at ${x0}, ${x1}${row ? `; ${facts(row)}` : ""}`,
      });
      group.classList.toggle("pp-chosen", isChosen("points", k));
      set(mark, { d: marker(label, 0.095), fill: colourOf(label) });
      set(ring, { r: row && row.price ? 0.15 + 0.11 * Math.sqrt(row.price / most) : 0, stroke: colourOf(label) });
      hit.setAttribute("r", 0.2);
      focus.setAttribute("r", 0.31);
    });
    sync(layers.shapes, state.shapes, makeShape, drawShape);
    drawCorners();
    showChosen(rows);
  }

  const isChosen = (list, k) => Boolean(chosen) && chosen[0] === list && chosen[1] === k;
  const nameOf = (shape, k) => `${shape.kind}_${k + 1}`; // as in messages, tables and code
  // Points without a class are not counted, as in the copied code.
  const rowName = (label, k) =>
    label === null ? "Point" : `Row ${state.points.slice(0, k).filter((point) => point[2] !== null).length}`;
  const facts = (row) => row.slack === undefined ? `f = ${short(row.f)}` : `f = ${short(row.f)}, slack ${short(row.slack)}, price ${short(row.price)}`;

  // Place of a label, at the upper or lower border of its shape.
  const labelAt = ({ centre: [x0, x1], half: [a, b] }, lower) => ({
    x: clamp(x0 - a, -edge + 0.05, edge - 2.2),
    y: clamp(lower ? b - x1 + 0.24 : -x1 - b - 0.08, -edge + 0.2, edge - 0.05),
  });

  // A label is below its shape if it would cover the label of an earlier shape.
  function labelPlace(shape, k) {
    const { x, y } = labelAt(shape, false);
    const others = state.shapes.slice(0, k).map((other) => labelAt(other, false));
    return labelAt(shape, others.some((other) => Math.abs(other.x - x) < 2.6 && Math.abs(other.y - y) < 0.25));
  }

  function drawShape(group, shape, k) {
    const [fill, outline, focus, label] = group.children;
    const [x0, x1] = shape.centre;
    const [a, b] = shape.half;
    const d =
      shape.kind === "box"
        ? `M${x0 - a} ${-x1 - b}h${2 * a}v${2 * b}h${-2 * a}Z`
        : `M${x0 - a} ${-x1}a${a} ${b} 0 1 0 ${2 * a} 0a${a} ${b} 0 1 0 ${-2 * a} 0Z`;
    const found = answer && answer.shapes && answer.shapes[k];
    const price = found ? found.price : null;
    const form = shape.form === "hard" ? "hard" : "soft";
    const verdict = found ? (found.holds ? "holds" : `violated by ${short(1 - found.worst)}`) : "";
    set(fill, { d, fill: `url(#${root.dataset.id}-hatch${shape.label})` });
    set(outline, { d, stroke: `var(--c${shape.label})`, "stroke-dasharray": form === "hard" ? "none" : "7 5" });
    set(focus, { d });
    set(label, labelPlace(shape, k));
    label.textContent = `${nameOf(shape, k)} ${SIGNS[shape.label]} ${form}${price === null ? "" : `, price ${short(price)}`}`;
    set(group, {
      "data-item": `shapes ${k}`,
      "aria-label":
        `Rule ${nameOf(shape, k)} of ${className(shape.label)}, ${shape.form}, centre ${x0}, ${x1}, ` +
        `half-widths ${a}, ${b}${found ? `; ${verdict}` : ""}${price === null ? "" : `, price ${short(price)}`}`,
    });
    group.classList.toggle("pp-chosen", isChosen("shapes", k));
  }

  function drawCorners() {
    const shape = chosen && chosen[0] === "shapes" ? state.shapes[chosen[1]] : null;
    const corners = shape ? [[-1, -1], [-1, 1], [1, -1], [1, 1]] : [];
    sync(
      layers.corners,
      corners,
      () => drawn("g", {}, drawn("rect", { x: -0.17, y: -0.17, width: 0.34, height: 0.34, fill: "transparent" }),
        drawn("rect", { x: -0.07, y: -0.07, width: 0.14, height: 0.14, fill: "var(--paper)", stroke: "var(--ink)",
          "stroke-width": 1.6, "vector-effect": "non-scaling-stroke", "pointer-events": "none" })),
      (group, [s0, s1]) => {
        const x = shape.centre[0] + s0 * shape.half[0];
        const y = shape.centre[1] + s1 * shape.half[1];
        set(group, { transform: `translate(${x} ${-y})` });
        set(group.children[0], { "data-corner": `${s0} ${s1}`, style: `cursor: ${s0 * s1 > 0 ? "nesw" : "nwse"}-resize` });
      },
    );
  }

  // Show the chosen point or rule, with what can be done to it.
  function showChosen(rows) {
    const [list, k] = chosen || [];
    const item = chosen && state[list][k];
    ui.pickedTools.hidden = !item;
    ui.form.hidden = list !== "shapes";
    if (!item) {
      ui.pickedText.textContent = "Click into the plane to add. Click a point or a rule to change it.";
    } else if (list === "points") {
      const row = rows && rows[k];
      ui.pickedText.textContent = `${rowName(item[2], k)} ${signOf(item[2])} at (${item[0]}, ${item[1]})${row ? `: ${facts(row)}` : ""}`;
    } else {
      const found = answer && answer.shapes && answer.shapes[k];
      ui.pickedText.textContent =
        `Rule ${nameOf(item, k)} of class ${item.label} ${SIGNS[item.label]}` +
        (found ? `: smallest margin ${short(found.worst)}` : "");
      ui.form.value = item.form;
    }
  }

  ui.form.addEventListener("change", () => setForm(ui.form.value));
  ui.flip.addEventListener("click", switchClass);
  ui.remove.addEventListener("click", remove);

  load(start.presets.findIndex((preset) => preset.lesson === start.lesson));
  return () => {
    themes();
    root.replaceChildren();
  };
}

// ---------------------------------------------------------------------------------------- parts of the page

function layout(root, start) {
  // Several playgrounds in one notebook need names of their own, and each loads this module anew.
  root.dataset.id = `pp${Math.random().toString(36).slice(2)}`;
  root.dataset.lmSuppressShortcuts = "true"; // keys such as C and H are shortcuts of JupyterLab
  const ui = { groups: {} };
  const radio = (name, legend, options) => {
    const set = element("fieldset", {}, element("legend", {}, legend));
    options.forEach(([value, text], k) => {
      const input = element("input", { type: "radio", name: `${root.dataset.id}-${name}`, value });
      input.checked = k === 0;
      set.append(element("label", {}, input, text));
    });
    return set;
  };
  const kinds = radio("label", "Class of what is added", [["0", "● class 0"], ["1", "▲ class 1"]]);
  const tools = radio("tool", "What is added", [["point", "Point"], ["unlabelled", "□ Unlabelled"], ["box", "Box"], ["ellipse", "Ellipse"]]);
  ui.label = () => Number(kinds.querySelector(":checked").value);
  ui.tool = () => tools.querySelector(":checked").value;
  ui.add = element("button", { type: "button", title: "Add in the middle of the plane" }, "Add");
  ui.undo = element("button", { type: "button", title: "Ctrl+Z", disabled: "" }, "Undo");
  ui.presets = element("select", { "aria-label": "Lesson" });
  for (const preset of start.presets) ui.presets.append(element("option", {}, `${preset.lesson}. ${preset.title}`));
  ui.text = element("p", { class: "pp-try" });
  ui.plane = planeElement(start.edge);
  ui.error = element("p", { class: "pp-error", role: "alert" });
  ui.notes = element("ul", { class: "pp-notes", "aria-label": "Warnings" });
  ui.pickedText = element("span");
  ui.form = element("select", { "aria-label": "Form of the rule" });
  for (const [value, text] of start.forms) ui.form.append(element("option", { value }, text));
  ui.flip = element("button", { type: "button", title: "Key C" }, "Other class");
  ui.remove = element("button", { type: "button", title: "Key Delete" }, "Remove");
  ui.pickedTools = element("span", {}, ui.form, " ", ui.flip, " ", ui.remove);
  ui.status = element("p", { class: "pp-status", role: "status" });
  ui.terms = element("tbody");
  ui.formula = element("div", { class: "pp-formula" });
  ui.code = element("pre", { tabindex: 0, "aria-label": "Python code of what is shown" });
  ui.copyCode = element("button", { type: "button" }, "Copy code");
  ui.copyFormula = element("button", { type: "button" }, "Copy LaTeX");

  const groups = element("div", { class: "pp-groups" });
  for (const name of new Set(start.fields.map((field) => field.group))) {
    ui.groups[name] = element("div", { class: "pp-card" }, element("h3", {}, name));
    groups.append(ui.groups[name]);
  }
  const heads = ["term", "value", "share", "slack", "price"].map((name) => element("th", {}, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), ui.terms);
  root.replaceChildren(
    element("style", {}, STYLE),
    element("div", { class: "pp-frame" },
      element("div", { class: "pp-head" }, element("h2", {}, "priorsvm playground"), ui.presets, ui.text),
      element("div", { class: "pp-main" },
        element("div", {},
          element("div", { class: "pp-tools" }, kinds, tools, ui.add, ui.undo),
          element("div", { class: "pp-plot" }, ui.plane, ui.error),
          legend()),
        element("div", { class: "pp-side" },
          element("div", { class: "pp-card pp-picked" }, ui.pickedText, ui.pickedTools),
          groups,
          element("div", { class: "pp-card" }, ui.status, element("div", { class: "pp-scroll" }, table), ui.notes),
          element("div", { class: "pp-card" }, title("Python", ui.copyCode), ui.code)),
        element("div", { class: "pp-card" }, title("The problem that is solved", ui.copyFormula), ui.formula))),
  );
  return ui;
}

function title(text, button) {
  return element("div", { class: "pp-title" }, element("h3", {}, text), button);
}

function planeElement(edge) {
  return drawn("svg", {
    class: "pp-plane",
    viewBox: `${-edge} ${-edge} ${2 * edge} ${2 * edge}`,
    role: "application",
    "aria-label":
      "Plane with points and rules. Tab goes from one to the next. Arrow keys move it, Shift and arrow keys resize a rule. " +
      "C changes its class, H the form of a rule, Delete removes it.",
  });
}

// Return the layers of the plane, from back to front.
function planeLayers(plane, edge) {
  const id = plane.closest(".pp").dataset.id;
  const hatch = (label, angle) =>
    drawn("pattern", { id: `${id}-hatch${label}`, width: 0.16, height: 0.16, patternUnits: "userSpaceOnUse",
      patternTransform: `rotate(${angle})` }, drawn("rect", { width: 0.025, height: 0.16, fill: `var(--c${label})`, opacity: 0.6 }));
  plane.append(drawn("defs", {}, hatch(0, 45), hatch(1, -45)));
  const layers = {};
  for (const name of ["areas", "grid", "curves", "shapes", "lines", "slacks", "added", "active", "worst", "points", "corners"]) {
    layers[name] = drawn("g", ["shapes", "points", "corners"].includes(name) ? {} : { "pointer-events": "none" });
    plane.append(layers[name]);
  }
  for (const label of [0, 1]) {
    layers.areas.append(drawn("path", { fill: `var(--c${label})`, "fill-rule": "evenodd", opacity: 0.13 }));
  }
  for (let k = -edge; k <= edge; k += 1) {
    const look = { stroke: "var(--dim)", opacity: k === 0 ? 0.5 : 0.13, "stroke-width": 1, "vector-effect": "non-scaling-stroke" };
    layers.grid.append(drawn("line", { x1: k, x2: k, y1: -edge, y2: edge, ...look }));
    layers.grid.append(drawn("line", { y1: k, y2: k, x1: -edge, x2: edge, ...look }));
    if (k % 2 === 0 && Math.abs(k) < edge && k !== 0) {
      layers.grid.append(drawn("text", { x: k, y: 0.22, class: "pp-label", "text-anchor": "middle", opacity: 0.7 }, k));
      layers.grid.append(drawn("text", { x: -0.08, y: -k + 0.07, class: "pp-label", "text-anchor": "end", opacity: 0.7 }, k));
    }
  }
  layers.grid.append(drawn("text", { x: edge - 0.28, y: -0.08, class: "pp-label" }, "x0"));
  layers.grid.append(drawn("text", { x: 0.08, y: -edge + 0.24, class: "pp-label" }, "x1"));
  for (const level of [-1, 0, 1]) {
    const look = level === 0 ? { stroke: "var(--ink)", "stroke-width": 3 }
      : { stroke: `var(--c${level > 0 ? 1 : 0})`, "stroke-width": 1.8, "stroke-dasharray": "8 5" };
    layers.lines.append(drawn("path", { fill: "none", "vector-effect": "non-scaling-stroke", ...look }));
  }
  return layers;
}

const focusLook = { class: "pp-focus", fill: "none", stroke: "var(--ink)", "stroke-width": 2, "stroke-dasharray": "2 3",
  "vector-effect": "non-scaling-stroke", "pointer-events": "none" };

function makePoint() {
  return drawn("g", { class: "pp-item", tabindex: 0, role: "button", "aria-roledescription": "point" },
    drawn("circle", { fill: "transparent" }),
    drawn("circle", focusLook),
    drawn("circle", { fill: "none", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }),
    drawn("path", { stroke: "var(--paper)", "stroke-width": 1, "vector-effect": "non-scaling-stroke" }));
}

function makeShape() {
  return drawn("g", { class: "pp-item", tabindex: 0, role: "button", "aria-roledescription": "rule" },
    drawn("path", {}),
    drawn("path", { fill: "transparent", "stroke-width": 2.4, "vector-effect": "non-scaling-stroke" }),
    drawn("path", { ...focusLook, "stroke-width": 1.6 }),
    drawn("text", { class: "pp-label", "pointer-events": "none" }));
}

function legend() {
  const entry = (text, ...parts) => element("span", {}, drawn("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, ...parts), text);
  const line = (attributes) => drawn("line", { x1: 1, x2: 25, y1: 7, y2: 7, stroke: "var(--ink)", "stroke-width": 2, ...attributes });
  const box = (dash) => drawn("rect", { x: 2, y: 2, width: 22, height: 10, fill: "none", stroke: "var(--dim)", "stroke-width": 2, "stroke-dasharray": dash });
  const mark = (d) => drawn("path", { d, stroke: "var(--ink)", "stroke-width": 2, fill: "none" });
  return element("div", { class: "pp-legend" },
    entry("border f = 0", line({ "stroke-width": 3 })),
    entry("margins f = ±1", line({ "stroke-dasharray": "6 4", stroke: "var(--dim)" })),
    entry("ring: price of a support vector", drawn("circle", { cx: 13, cy: 7, r: 6, fill: "none", stroke: "var(--dim)", "stroke-width": 2 }),
      drawn("circle", { cx: 13, cy: 7, r: 2.5, fill: "var(--dim)" })),
    entry("slack", line({ "stroke-dasharray": "2 3", "stroke-width": 1.5 })),
    entry("unlabelled: counts for soft rules at rows", drawn("path", { d: marker(null, 4), transform: "translate(13 7)", fill: "var(--dim)" })),
    entry("hard rule", box("none")),
    entry("soft rule", box("5 3")),
    entry("rule holds at its worst place", mark("M7 7H19M13 1V13")),
    entry("rule violated there", mark("M8 2L18 12M8 12L18 2")),
    entry("active worst place of a row", drawn("path", { d: "M13 1L19 7L13 13L7 7Z", fill: "none", stroke: "var(--ink)", "stroke-width": 1.6 })),
    entry("row added by a block", drawn("circle", { cx: 13, cy: 7, r: 3.2, fill: "none", stroke: "var(--dim)" })));
}

// Build the control of a setting, and return a function that shows the value of a state.
function control(field, group, changed) {
  const id = `${group.closest(".pp").dataset.id}-${field.name}`;
  const output = element("output", { for: id });
  const input = field.type === "choice" ? element("select", { id }) : element("input", { id, type: "range" });
  const label = element("label", { for: id }, field.text);
  const row = element("div", { class: `pp-field pp-${field.type}` }, label, input);
  if (field.type === "number") label.after(output);
  group.append(row);
  if (field.type === "choice") {
    for (const [value, text] of field.options) input.append(element("option", { value }, text));
    input.addEventListener("change", () => changed(field.name, input.value, false));
  } else {
    set(input, field.log ? { min: Math.log10(field.low), max: Math.log10(field.high), step: 0.02 } : { min: field.low, max: field.high, step: 0.05 });
    const value = () => (field.log ? tidy(10 ** Number(input.value), field) : Number(input.value));
    input.addEventListener("input", () => changed(field.name, value(), true));
    input.addEventListener("change", () => changed(field.name, value(), false));
  }
  return (state) => {
    const value = state[field.name];
    if (field.type === "choice") input.value = value;
    else {
      input.value = field.log ? Math.log10(value) : value;
      input.setAttribute("aria-valuetext", short(value));
      output.textContent = short(value);
    }
    row.hidden = Object.entries(field.when).some(([name, values]) => !values.includes(state[name]));
  };
}

// Return a number with two digits, within the range of its setting; a number near 1 is 1.
function tidy(value, field) {
  if (Math.abs(Math.log10(value)) < 0.015) return 1;
  return clamp(Number(value.toPrecision(2)), field.low, field.high);
}

function showTerms(body, terms) {
  const largest = Math.max(...terms.map((term) => Math.abs(term.share)), 1e-12);
  sync(body, terms, () => element("tr"), (row, term) => {
    const bar = element("span", { class: `pp-bar${term.block === "svm" ? "" : " pp-prior"}` });
    bar.style.width = `${(100 * Math.abs(term.share)) / largest}%`;
    const share = element("span", {}, `${(100 * term.share).toFixed(1)} %`);
    const counted = term.rows > 0;
    row.replaceChildren(
      element("td", {}, `${term.block} ${term.term}`),
      element("td", {}, short(term.contribution)),
      element("td", { class: "pp-share" }, element("div", {}, element("span", { class: "pp-track" }, bar), share)),
      element("td", {}, counted && term.slack !== null ? short(term.slack) : "–"),
      element("td", {}, counted ? short(term.price) : "–"),
    );
  });
}

function showFormula(box, lines) {
  box.replaceChildren();
  for (const line of lines) {
    const parts = formulaParts(line.math);
    box.append(element("span", { class: "pp-role" }, line.role), element("div", {}, ...parts, element("small", {}, line.label)));
  }
}

// Return the formula as pieces of MathML and of plain text; a browser breaks lines in text only.
function formulaParts([, ...nodes]) {
  const parts = [];
  let formula = null;
  for (const node of nodes) {
    if (node[0] === "mtext") {
      parts.push(node[1]);
      formula = null;
      continue;
    }
    if (!formula) {
      formula = document.createElementNS(MATHML, "math");
      formula.setAttribute("displaystyle", "true");
      parts.push(formula);
    }
    formula.append(mathml(node));
  }
  return parts;
}

// Copy a text, and show on the button that it was copied.
async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages without access to the clipboard, such as some notebooks: copy by way of a selection.
    const area = element("textarea", { class: "pp-hidden" });
    area.value = text;
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const before = button.dataset.text || button.textContent;
  button.dataset.text = before;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1500);
}

// Use dark colours if the notebook or the system does. Return a function that ends it.
function followTheme(root) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const notebook = document.body.dataset.jpThemeLight;
    const dark = notebook === undefined ? system.matches : notebook === "false";
    root.dataset.theme = dark ? "dark" : "light";
    if (root.id === "priorsvm-playground") document.body.style.background = dark ? "#11161c" : "#ffffff";
  };
  const watch = new MutationObserver(follow);
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  system.addEventListener("change", follow);
  follow();
  return () => {
    watch.disconnect();
    system.removeEventListener("change", follow);
  };
}

// ---------------------------------------------------------------------------------------- notebook and browser

// In a notebook states and answers are messages of the widget, with a number that joins them.
function render({ model, el }) {
  const waiting = new Map();
  const received = (message) => {
    waiting.get(message.number)?.(message.answer);
    waiting.delete(message.number);
  };
  model.on("msg:custom", received);
  const answerTo = (state) =>
    new Promise((resolve) => {
      const number = Math.random();
      waiting.set(number, resolve);
      model.send({ number, state });
    });
  const root = element("div");
  el.append(root);
  const end = playground(root, model.get("start"), answerTo);
  return () => {
    model.off("msg:custom", received);
    end();
  };
}

export default { render };

// In a browser they are requests to the server of this page, whose address has the token.
const page = document.getElementById("priorsvm-playground");
if (page) {
  const answerTo = async (state) => {
    const response = await fetch("answer", { method: "POST", body: JSON.stringify(state) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  fetch("start").then((response) => response.json()).then((start) => playground(page, start, answerTo));
}
