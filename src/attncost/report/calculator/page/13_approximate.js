// Trees turned into functions over doubles, for curves: no text is evaluated, since the policy of
// the page forbids it. Relative errors stay below 1e-6: terms of n² that cancel at 2^30 leave 1e-9.

const functionOf = new WeakMap()

/** Return a function of a state; NaN where there is no formula. */
function approximate(tree) {
  return (state) => {
    const known = resolved(tree, state)
    return known === null ? NaN : compiled(known)(state)
  }
}

function compiled(tree) {
  if (!Array.isArray(tree)) return leaf(tree)
  if (!functionOf.has(tree)) functionOf.set(tree, joined(tree[0], tree.slice(1).map(compiled)))
  return functionOf.get(tree)
}

const constant = (value) => () => value

// A function of the length alone, whatever else is in the state worked out once.
function ofLength(tree, state) {
  if (!holdsLength(tree)) return constant(compiled(tree)(state))
  if (!Array.isArray(tree)) return (n) => n
  const [operation, ...parts] = tree
  if (!ASSOCIATIVE.has(operation)) return joined(operation, parts.map((part) => ofLength(part, state)))
  const moving = parts.filter(holdsLength).map((part) => ofLength(part, state))
  const still = parts.filter((part) => !holdsLength(part))
  const moves = joined(operation, moving)
  if (!still.length) return moves
  return withConstant(operation, moves, compiled([operation, ...still])(state))
}

const ASSOCIATIVE = new Set(["+", "*", "max", "min"])

function withConstant(operation, a, value) {
  if (operation === "+") return (n) => a(n) + value
  if (operation === "*") return (n) => a(n) * value
  return operation === "max" ? (n) => Math.max(a(n), value) : (n) => Math.min(a(n), value)
}

const holdsLength = (tree) =>
  Array.isArray(tree) ? tree.some((part, place) => place > 0 && holdsLength(part)) : tree === "length"

function leaf(tree) {
  if (isDigits(tree)) return constant(Number(tree))
  if (tree === "peak" || tree === "bandwidth") return (state) => valueOf(tree, state)
  return (state) => state[tree]
}

function joined(operation, [a, b, ...others]) {
  if (others.length) return joined(operation, [joined(operation, [a, b]), ...others])
  if (b === undefined) return alone(operation, a)
  switch (operation) {
    case "+": return (state) => a(state) + b(state)
    case "*": return (state) => a(state) * b(state)
    case "/": return (state) => a(state) / b(state)
    case "^": return (state) => a(state) ** b(state)
    case "max": return (state) => Math.max(a(state), b(state))
    default: return (state) => Math.min(a(state), b(state))
  }
}

// Of a sum or product of one part nothing is left but that part.
function alone(operation, a) {
  if (operation === "ceil") return (state) => Math.ceil(a(state))
  return operation === "floor" ? (state) => Math.floor(a(state)) : a
}
