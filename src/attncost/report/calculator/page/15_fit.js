// What fits, and where one curve leaves another: bisection and search by the same rules as Python.

const FARTHEST = 2 ** 40
const SEARCHED = 2 ** 14
// Doubles closer than this are compared exactly.
const CLOSE = 1e-6

function totalAt(state, changes) {
  return exact("@memory", { ...state, ...changes })
}

function fitsIn(state, changes) {
  const asked = { ...state, ...changes }
  const about = approximate("@memory")(asked)
  if (Math.abs(about - state.memory) > CLOSE * state.memory) return about < state.memory
  return !less(fractionOf(state.memory), exact("@memory", asked))
}

/** Return the greatest size from 1 to `top` that fits, 0 if none does; what fits never shrinks. */
function bisected(fits, top) {
  let [low, high] = [0, top]
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2)
    if (fits(middle + 1)) low = middle + 1
    else high = middle
  }
  return low
}

/** Return the longest sequences that fit, and what is in the way; null without a formula. */
function longest(state, attention = state.attention) {
  return greatestOf("length", { ...state, attention }, state.longest)
}

/** Return the most sequences that fit. */
const largestBatch = (state, attention = state.attention) => greatestOf("batch", { ...state, attention }, 0)

function greatestOf(name, state, most) {
  if (memory(state) === null) return null
  const top = most || FARTHEST
  const found = bisected((size) => fitsIn(state, { [name]: size }), top)
  if (found === top && most) return { greatest: most, limit: "positions" }
  if (found === top) {
    const grows = less(totalAt(state, { [name]: top / 2 }), totalAt(state, { [name]: top }))
    return { greatest: grows ? top : null, limit: grows ? "search" : "nothing" }
  }
  return { greatest: found, limit: inTheWay(state, name, found) }
}

// The part to blame: the greatest; of those that grow, if anything fits at all.
function inTheWay(state, name, found) {
  const at = (size) => parts(state).map(({ part, tree }) => [part, exact(tree, { ...state, [name]: size })])
  const before = new Map(found ? at(found) : [])
  const beyond = at(found + 1)
  const grown = beyond.filter(([part, held]) => less(before.get(part) ?? fraction(0n), held))
  return (grown.length ? grown : beyond).reduce((a, b) => (less(a[1], b[1]) ? b : a))[0]
}

const CURVE_TREES = { flops: "@flops", memory: "@memory", bytes: "@moved", seconds: "@seconds" }

/** Return the length from which one attention stays below another, up to 16,384; else null. */
function crossover(state, attention, against, by) {
  return crossing(state, attention, against, by).length
}

/** Return that length, and up to which lengths it was searched; null for all. */
function crossing(state, attention, against, by) {
  const tree = CURVE_TREES[by] ?? `@${by}`
  return stays({ ...state, attention }, tree, { ...state, attention: against }, tree, false)
}

/** Return the length from which attention costs at least what all the rest does, or null. */
function takesOver(state) {
  return takingOver(state).length
}

/** Return that length, and up to which lengths it was searched; null for all. */
function takingOver(state) {
  return stays(state, "@other_flops", state, "@attention_flops", true)
}

const MOST_REMEMBERED = 1000
const foundCrossings = new Map()

// The chosen length moves most often, and no crossing depends on it.
function stays(cheap, cheapTree, dear, dearTree, even) {
  const key = [cheapTree, dearTree, ...Object.values({ ...cheap, length: 0 }), dear.attention].join(" ")
  if (!foundCrossings.has(key)) {
    if (foundCrossings.size > MOST_REMEMBERED) foundCrossings.clear()
    foundCrossings.set(key, searched(cheap, cheapTree, dear, dearTree, even))
  }
  return foundCrossings.get(key)
}

// From the end backwards, so that what wins for good is found where it begins to.
function searched(cheap, cheapTree, dear, dearTree, even) {
  const [mine, theirs] = [resolved(cheapTree, cheap), resolved(dearTree, dear)]
  if (mine === null || theirs === null) return { length: null, upTo: null }
  const [low, high] = [ofLength(mine, cheap), ofLength(theirs, dear)]
  const [a, b] = [{ ...cheap }, { ...dear }]
  const wins = (length) => {
    const [here, there] = [low(length), high(length)]
    if (Math.abs(here - there) > CLOSE * there) return here < there
    a.length = b.length = length
    const [mineExactly, theirsExactly] = [exactly(mine, a, new Map()), exactly(theirs, b, new Map())]
    return even ? !less(theirsExactly, mineExactly) : less(mineExactly, theirsExactly)
  }
  const steps = holdsSteps(mine) || holdsSteps(theirs)
  const never = cheap.work === "decode" && steps
  // Costs that never shrink are bounded by those at the ends of a range of lengths.
  const surely = (from, to) => !never && low(to) < high(from) * (1 - CLOSE)
  const loss = lastLoss(wins, surely, 1, SEARCHED)
  const length = loss < SEARCHED ? loss + 1 : beyond(wins, steps)
  return { length, upTo: length === null && steps ? SEARCHED : null }
}

// The last length that does not win, 0 if all do: no length is passed over that is not bounded.
function lastLoss(wins, surely, from, to) {
  if (surely(from, to)) return 0
  if (!wins(to)) return to
  if (from === to) return 0
  const middle = Math.floor((from + to) / 2)
  return lastLoss(wins, surely, middle + 1, to) || lastLoss(wins, surely, from, middle)
}

// Steps of tiles cross many times, so nothing is said of them here; smooth curves that grow at
// different rates cross once for good.
function beyond(wins, steps) {
  if (steps) return null
  const top = sizeNamed("length").high
  if (!wins(top)) return null
  return SEARCHED + bisected((step) => !wins(SEARCHED + step), top - SEARCHED) + 1
}

const sizeNamed = (name) => header.sizes.find((size) => size.name === name)
const holdsSteps = (tree) => Array.isArray(tree) && (tree[0] === "ceil" || tree.some(holdsSteps))
