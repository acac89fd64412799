// Trees evaluated exactly: quotients of whole numbers of any size, as Python has them.

const ONE = { numerator: 1n, denominator: 1n }

const fraction = (numerator, denominator = 1n) => {
  if (denominator === 1n) return { numerator, denominator }
  if (denominator < 0n) return fraction(-numerator, -denominator)
  const shared = commonDivisor(numerator < 0n ? -numerator : numerator, denominator)
  return { numerator: numerator / shared, denominator: denominator / shared }
}

function commonDivisor(a, b) {
  while (b) [a, b] = [b, a % b]
  return a
}

const added = (a, b) => a.denominator === 1n && b.denominator === 1n
  ? { numerator: a.numerator + b.numerator, denominator: 1n }
  : fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
const multiplied = (a, b) => fraction(a.numerator * b.numerator, a.denominator * b.denominator)
const less = (a, b) => a.numerator * b.denominator < b.numerator * a.denominator

function floored({ numerator, denominator }) {
  const cut = numerator / denominator
  return fraction(numerator < 0n && cut * denominator !== numerator ? cut - 1n : cut)
}

const opposite = ({ numerator, denominator }) => ({ numerator: -numerator, denominator })

const OPERATIONS = {
  "+": (parts) => parts.reduce(added),
  "*": (parts) => parts.reduce(multiplied),
  "/": ([a, b]) => fraction(a.numerator * b.denominator, a.denominator * b.numerator),
  "^": ([a, b]) => fraction(a.numerator ** b.numerator, a.denominator ** b.numerator),
  max: (parts) => parts.reduce((a, b) => (less(a, b) ? b : a)),
  min: (parts) => parts.reduce((a, b) => (less(b, a) ? b : a)),
  floor: ([a]) => floored(a),
  ceil: ([a]) => opposite(floored(opposite(a))),
}

// A double is a whole number divided by a power of two, so none is rounded.
function fractionOf(value) {
  if (typeof value === "string") return fraction(BigInt(value))
  let [denominator, rest] = [1n, value]
  for (; !Number.isInteger(rest); rest *= 2) denominator *= 2n
  return fraction(BigInt(rest), denominator)
}

// Rates are those of the device, or of this machine, or typed.
const valueOf = (name, state) =>
  name === "peak" ? rates(state).flops : name === "bandwidth" ? rates(state).bytes : state[name]

const isDigits = (tree) => typeof tree === "number" || /^-?\d/.test(tree)

/** Return a formula's value as a quotient of whole numbers; null if there is no formula. */
function exact(tree, state) {
  const known = resolved(tree, state)
  return known === null ? null : exactly(known, state, new Map())
}

function exactly(tree, state, seen) {
  if (!Array.isArray(tree)) {
    return fractionOf(isDigits(tree) ? tree : valueOf(tree, state))
  }
  // A part that stands in several places is one object, and evaluated once.
  if (!seen.has(tree)) {
    const parts = tree.slice(1).map((part) => exactly(part, state, seen))
    seen.set(tree, OPERATIONS[tree[0]](parts))
  }
  return seen.get(tree)
}
