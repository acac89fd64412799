// What the page asks for: names of formulas, what must hold, and what a device does in a second.

const existing = (name) => (state) => (isKnown(name, state) ? name : null)
const [flops, core, bytes, memory, seconds, parameters] =
  ["@flops", "@attention_flops", "@moved", "@memory", "@seconds", "@parameters"].map(existing)

const PARTS = ["weights", "gradients", "optimizer", "cache", "activations", "logits"]

/** Return all that has a formula in a state. */
function quantities(state) {
  return Object.entries(header.quantities)
    .filter(([name]) => isKnown(`@${name}`, state))
    .map(([name, { title, symbol, unit }]) => ({ name, title, symbol, unit, tree: `@${name}` }))
}

/** Return what memory is made of, if there are formulas. */
function parts(state) {
  if (memory(state) === null) return []
  const known = PARTS.filter((part) => isKnown(`@${part}`, state))
  return known.map((part) => ({ part, tree: `@${part}`, exact: isExact(part, state) }))
}

// Scales of quantised weights are left out where no format fixes them.
const isExact = (part, state) =>
  header.quantities[part].exact &&
  (!["weights", "gradients", "optimizer"].includes(part) || header.whole.includes(state.weights))

/** Return FLOPs and bytes of a second, and who says so; or the problem. */
function rates(state) {
  if (state.device === "own") {
    return { flops: state.peak, bytes: state.bandwidth, source: "a device of these numbers", measured: false }
  }
  if (state.device === "calibrated") {
    const { flops, bytes, source } = header.calibration
    return { flops, bytes, source, measured: true }
  }
  const { title, peaks, bandwidth } = header.devices.find(({ name }) => name === state.device)
  const kind = state.activations
  if (!(kind in peaks)) {
    return { problem: `the ${title} has no arithmetic in ${kind}; it has ${Object.keys(peaks).join(", ")}.` }
  }
  return { flops: peaks[kind], bytes: bandwidth, source: `the peaks of the ${title} (${kind})`, measured: false }
}

/** Return what is wrong with a state, setting by setting. */
function problems(state) {
  const found = header.sizes.flatMap((size) => outside(size, state[size.name]))
  for (const [name, words] of wordsOf) {
    if (name in state && !words.includes(state[name])) {
      found.push({ name, message: `${name} must be one of ${words.join(", ")}.` })
    }
  }
  if (found.length) return found
  return header.rules.filter((rule) => isBroken(rule, state)).map(({ name, message }) => ({
    name,
    message: message.replace(/\{(\w+)\}/g, (_, one) => state[one].toLocaleString("en")),
  }))
}

function outside({ name, title, low, high, unit }, value) {
  const rate = unit === "rate" || unit === "moved"
  const good = typeof value === "number" && value >= low && value <= high && (rate || Number.isInteger(value))
  const [least, most] = [low, high].map((one) => one.toLocaleString("en"))
  return good ? [] : [{ name, message: `${title} must be a ${rate ? "" : "whole "}number from ${least} to ${most}.` }]
}

function isBroken({ divides, most, least, of, when, among }, state) {
  if (divides) return state[divides[1]] % state[divides[0]] !== 0
  if (most) return state[most[1]] > 0 && state[most[0]] > state[most[1]]
  if (least) return [state.attention, state.compared].includes(of) && state[least[0]] < least[1]
  return state[when[0]] === when[1] && !among[1].includes(state[among[0]])
}
