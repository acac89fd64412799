// A tree as MathML, with its letters or with the numbers in their places.

const SUM = 1
const PRODUCT = 2
const POWER = 3
const ATOM = 4

const BINDING = { "+": SUM, "-": SUM, "*": PRODUCT, "^": POWER }

const binding = (tree) => (Array.isArray(tree) ? BINDING[tree[0]] ?? ATOM : ATOM)

const operator = (sign) => formula("mo", {}, sign)
const fenced = (open, inside, close) =>
  formula("mrow", {}, formula("mo", { fence: "true" }, open), ...inside,
    formula("mo", { fence: "true" }, close))

const STYLE = { displaystyle: "true" }

// A formula as elements that may stand in several lines, a sum's terms apart from each other.
// `letter` writes a symbol: its name, or its number.
function math(tree, letter) {
  if (!Array.isArray(tree) || tree[0] !== "+") {
    return [formula("math", STYLE, markup(tree, letter, 0))]
  }
  return tree.slice(1).map((part, i) => formula("math", STYLE, ...term(part, letter, i)))
}

function markup(tree, letter, within) {
  const made = written(tree, letter)
  return binding(tree) < within ? fenced("(", [made], ")") : made
}

function written(tree, letter) {
  if (!Array.isArray(tree)) return atom(tree, letter)
  const [kind, ...parts] = tree
  if (kind === "+") return formula("mrow", {}, ...parts.flatMap((part, i) => term(part, letter, i)))
  if (kind === "-") return formula("mrow", {}, ...term(tree, letter, 0))
  if (kind === "*") return formula("mrow", {}, ...between(parts, "·", letter, PRODUCT))
  if (kind === "/") {
    return formula("mfrac", {}, markup(parts[0], letter, 0), markup(parts[1], letter, 0))
  }
  if (kind === "^") {
    return formula("msup", {}, markup(parts[0], letter, ATOM), markup(parts[1], letter, 0))
  }
  if (kind === "ceil") return fenced("⌈", [markup(parts[0], letter, 0)], "⌉")
  if (kind === "floor") return fenced("⌊", [markup(parts[0], letter, 0)], "⌋")
  return formula("mrow", {}, formula("mi", {}, kind),
    fenced("(", between(parts, ",", letter, 0), ")"))
}

function between(parts, sign, letter, within) {
  return parts.flatMap((part, i) => [
    ...(i ? [operator(sign)] : []),
    markup(part, letter, within),
  ])
}

// What is taken away has its sign in front of it, not inside.
function term(part, letter, place) {
  const opposite = negated(part)
  if (opposite === null) return [...(place ? [operator("+")] : []), markup(part, letter, SUM)]
  return [operator("−"), markup(opposite, letter, PRODUCT)]
}

function negated(tree) {
  if (isNumber(tree)) return String(tree).startsWith("-") ? String(tree).slice(1) : null
  if (!Array.isArray(tree)) return null
  if (tree[0] === "-") return tree[1]
  if (tree[0] !== "*") return null
  const [, first, ...rest] = tree
  const opposite = negated(first)
  if (opposite === null) return null
  if (opposite === "1") return rest.length === 1 ? rest[0] : ["*", ...rest]
  return ["*", opposite, ...rest]
}

const isNumber = (tree) =>
  typeof tree === "number" || (typeof tree === "string" && /^-?\d/.test(tree))

function atom(tree, letter) {
  if (isNumber(tree)) return formula("mn", {}, whole(tree))
  return letter(tree)
}

// d_model is d with a word below it; a word alone stands upright.
function named(symbol) {
  const [base, below] = symbol.split("_")
  const upright = base.length > 1 ? { mathvariant: "normal" } : {}
  if (!below) return formula("mi", upright, base)
  const word = formula("mi", { mathvariant: "normal" }, below)
  return formula("msub", {}, formula("mi", upright, base), word)
}
