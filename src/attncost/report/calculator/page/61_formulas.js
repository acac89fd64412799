// The formulas behind the answers: with letters, with the numbers in their places, and what comes
// out. They are the trees that are evaluated, so they cannot say anything else.

const letterOf = (name) => (sizeOf(name) ?? header.quantities[name.slice(1)]).symbol

function drawFormulas() {
  const known = quantities(state).filter(({ unit }) => unit !== "seconds" || !found.rates.problem)
  byId("formulas").replaceChildren(...known.map(shownFormula))
  const used = new Set(known.flatMap(({ tree }) => [...symbolsOf(opened(tree, state))]))
  const lines = [...byId("formulas").querySelectorAll(".lines")]
  for (const line of lines.filter(isWide)) line.parentElement.classList.add("wide")
  lines.filter(isWide).forEach(reachable)
  byId("letters").replaceChildren(...header.sizes.filter(({ name }) => used.has(name)).map(
    ({ symbol, title }) => element("span", {}, formula("math", {}, named(symbol)), ` ${title}`)))
}

function shownFormula({ title, symbol, unit, tree }) {
  const shape = opened(tree, state)
  const value = exact(tree, state)
  const letter = (name) => named(letterOf(name))
  const number = (name) => formula("mn", {}, said(exact(name, state)))
  return element("section", { class: "formula" },
    element("h3", {}, title, element("span", {}, `${said(value)}${UNIT_WORDS[unit] ?? ""}`)),
    element("div", { class: "scroll lines" }, equal(named(symbol)), ...math(shape, letter)),
    element("div", { class: "scroll lines filled" }, equal(), ...math(shape, number)))
}

const equal = (...left) => formula("math", {}, ...left, operator("="))

const isWide = (line) => line.scrollWidth > line.clientWidth

// What is wider than its place is scrolled by keys, too.
function reachable(line) {
  line.tabIndex = 0
  line.setAttribute("role", "region")
  line.setAttribute("aria-label", "A wide formula")
}

const UNIT_WORDS = { flops: " FLOPs", bytes: " bytes", seconds: " s" }

function said({ numerator, denominator }) {
  return denominator === 1n ? whole(numerator) : figures(ratio({ numerator, denominator }))
}

function symbolsOf(tree, into = new Set()) {
  if (Array.isArray(tree)) for (const part of tree.slice(1)) symbolsOf(part, into)
  else if (!isNumber(tree)) into.add(tree)
  return into
}
