// Which formula holds: cases are decided by what is chosen, and `@name` is another quantity. What a
// formula needs and has none, such as the memory of an approximation, makes it null as well.

const decidedTrees = new Map()

// The quantities' own choices and those of all that they name, so that formulas are decided once.
const choicesOf = new Map()

function choicesIn(tree, into) {
  if (Array.isArray(tree)) {
    if (tree[0] === "case") into.add(tree[1])
    for (const part of tree.slice(1)) choicesIn(part, into)
  } else if (isQuantity(tree)) for (const one of choicesBehind(tree)) into.add(one)
  return into
}

const isQuantity = (tree) => typeof tree === "string" && tree.startsWith("@")

function choicesBehind(name) {
  if (!choicesOf.has(name)) choicesOf.set(name, [...choicesIn(quantityOf(name).tree, new Set())])
  return choicesOf.get(name)
}

function quantityOf(name) {
  const found = header.quantities[name.slice(1)]
  if (!found) throw new Error(`this page has no formula of ${name}.`)
  return found
}

// A tree without cases; with `@names` as they are, unless they are to be put in, too.
function decided(tree, state, putIn) {
  if (isQuantity(tree)) return putIn ? resolved(tree, state) : isKnown(tree, state) ? tree : null
  if (!Array.isArray(tree)) return tree
  if (tree[0] === "case") {
    const words = wordsOf.get(tree[1])
    return decided(tree[2 + words.indexOf(chosenIn(state, tree[1]))], state, putIn)
  }
  const parts = tree.slice(1).map((part) => decided(part, state, putIn))
  return parts.includes(null) ? null : [tree[0], ...parts]
}

const isKnown = (name, state) => resolved(name, state) !== null

function remembered(name, state, putIn) {
  let key = `${name} ${putIn}`
  for (const choice of choicesBehind(name)) key += ` ${chosenIn(state, choice)}`
  if (!decidedTrees.has(key)) decidedTrees.set(key, decided(quantityOf(name).tree, state, putIn))
  return decidedTrees.get(key)
}

/** Return the formula that holds, with all that it names put in; null if there is none. */
function resolved(tree, state) {
  return isQuantity(tree) ? remembered(tree, state, true) : decided(tree, state, true)
}

/** Return the formula that holds, with what it names as names. */
function opened(tree, state) {
  return isQuantity(tree) ? remembered(tree, state, false) : decided(tree, state, false)
}
