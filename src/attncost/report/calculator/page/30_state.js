// What is set, and who follows from what. Nothing here computes a cost.

const state = {}
const listeners = []
const stale = new Set()
const inSight = new Set()
let waiting = 0
let resting = 0

const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inSight.add(target)
    else inSight.delete(target)
  }
  if (stale.size) redraw()
}, { rootMargin: "200px" })

// What is drawn inside of a section that is out of sight waits until the settings come to rest.
function changed(draw, section = null) {
  listeners.push({ draw, section })
  if (section) sight.observe(section)
}

// However many settings move before the next frame, it is painted once.
function redraw() {
  if (waiting) return
  waiting = requestAnimationFrame(() => {
    waiting = 0
    paint()
  })
}

function paint() {
  try {
    for (const { draw, section } of listeners) {
      if (section && !inSight.has(section)) stale.add(draw)
      else {
        draw()
        stale.delete(draw)
      }
    }
    clearTimeout(resting)
    resting = setTimeout(rest, 150)
  } catch (error) {
    fail(error)
  }
}

function rest() {
  for (const draw of stale) draw()
  stale.clear()
}

// What is set takes along what follows from it, until that is set by hand.
function set(changes) {
  forgive()
  const before = { ...state }
  Object.assign(state, changes)
  if ("heads" in changes && !("kv_heads" in changes)) state.kv_heads = followed(before)
  if (!state.head_dim_held) state.head_dim = shared()
  redraw()
}

const shared = (it = state) => Math.max(1, Math.floor(it.d_model / it.heads))

// As many heads of keys as of queries stay as many; fewer become the next that divide the heads.
function followed(before) {
  if (before.kv_heads === before.heads) return state.heads
  return divisors(state.heads).findLast((one) => one <= before.kv_heads)
}

function divisors(number) {
  const small = []
  for (let one = 1; one * one <= number; one += 1) if (number % one === 0) small.push(one)
  const large = small.map((one) => number / one).reverse()
  return [...new Set([...small, ...large])]
}

// Places of a slider: round numbers, eight or four from one power of two to the next.
function places({ low, high, unit }, finer = 4) {
  const found = low === 0 ? [0] : []
  for (let power = Math.floor(Math.log2(Math.max(low, 1))); 2 ** power <= high; power += 1) {
    for (let part = 0; part < finer; part += 1) {
      const value = 2 ** power * (1 + part / finer)
      const good = Number.isInteger(value) || unit === "rate"
      if (value >= low && value <= high && good) found.push(value)
    }
  }
  if (found.at(-1) < high) found.push(high)
  return found
}

const nearest = (list, value) => {
  let best = 0
  for (const [place, one] of list.entries()) {
    if (Math.abs(one - value) < Math.abs(list[best] - value)) best = place
  }
  return best
}
