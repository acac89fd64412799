// The answers: a number, and the sentence that says what it is.

const WORKS = {
  prefill: (n, batch) =>
    `to read ${batch > 1 ? `${whole(batch)} prompts` : "a prompt"} of ${n} tokens`,
  decode: (n, batch) =>
    `to write one token ${batch > 1 ? `of each of ${whole(batch)} sequences ` : ""}after ${n}`,
  training: (n, batch) =>
    `for a training step on ${batch > 1 ? `${whole(batch)} sequences of ` : ""}${n} tokens`,
}

// What several parts of the page need, worked out once for a paint.
const found = {}

function work() {
  const rival = contenders()[1]?.attention
  const other = { ...state, attention: rival }
  const fit = longest(state, state.attention)
  Object.assign(found, {
    fit,
    rival,
    rivalFit: rival && longest(other, rival),
    total: exactNumber(flops(state)),
    inside: exactNumber(core(state)),
    held: exactNumber(memory(state)),
    rivalTotal: rival && exactNumber(flops(other), other),
    takesOver: takesOver(state),
    crossings: rival ? crossings(rival) : {},
    rates: rates(state),
  })
  found.seconds = found.rates.problem ? null : exactNumber(seconds(state))
}

// Null where there is no formula, as of the memory of some approximations.
const exactNumber = (tree, it = state) => (tree === null ? null : ratio(exact(tree, it)))

// A quotient of whole numbers of any size, rounded once.
function ratio({ numerator, denominator }) {
  if (denominator === 1n) return Number(numerator)
  return Number((numerator * 2n ** 60n) / denominator) / 2 ** 60
}

function crossings(rival) {
  const by = {}
  for (const { name } of CURVES) by[name] = crossover(state, rival, state.attention, name)
  return by
}

function answers() {
  const said = [ofWork(), ofMemory(), ofTime(), ofRival()].filter(Boolean)
  byId("answers").replaceChildren(
    ...said.map(({ number, text, tone }) =>
      toned(element("li", {}, element("strong", {}, number), element("p", {}, text)), { tone }),
    ),
  )
  say(said.map(({ number, text }) => `${number} ${text}`).join(" "))
}

const purpose = () => WORKS[state.work](whole(state.length), state.batch)

// Where tiles make steps, what was not found was not searched for at every length.
const unless = ({ upTo }, never, not) => (upTo === null ? never : `${not} up to ${whole(upTo)} tokens`)

function ofWork() {
  const share = found.total ? found.inside / found.total : 0
  const from = found.takesOver === null
    ? `${unless(takingOver(state), "it never takes half of all", "it does not take half of all")}.`
    : found.takesOver <= state.length
      ? `it takes half from ${whole(found.takesOver)} on.`
      : `it will take half from ${whole(found.takesOver)} on.`
  const inside = `${show(share, "percent")} of it is attention between its projections`
  return {
    number: show(found.total, "flops"),
    text: `${purpose()}; ${inside}, and ${from}`,
    tone: "var(--s0)",
  }
}

function ofMemory() {
  if (found.held === null) {
    return { number: "No figure", tone: "var(--s2)",
      text: `There is no formula of the memory of ${attentionTitle(state.attention)}.` }
  }
  const room = typed(state.memory, "bytes")
  const now = `${whole(state.length)} take ${show(found.held, "bytes")}.`
  const { greatest, limit } = found.fit
  if (greatest === 0) {
    return { number: "Does not fit", tone: "var(--alarm)",
      text: `Not even one token fits into ${room}, the ${limit} ${isAre(limit)} in the way. ` +
        now }
  }
  const ends = {
    positions: "the model has no positions beyond.",
    nothing: "memory sets no limit.",
    search: "that is as far as this page looks.",
  }[limit] ?? `one more does not, the ${limit} ${isAre(limit)} in the way.`
  const number = greatest === null ? "Any length" : `${whole(greatest)} tokens`
  const over = greatest !== null && state.length > greatest
  return { number, text: `fit into ${room} at batch ${whole(state.batch)}; ${ends} ${now}`,
    tone: over ? "var(--alarm)" : "var(--s2)" }
}

const isAre = (part) => (/(?:ts|ns)$/.test(part) || part === "logits" ? "are" : "is")

function ofTime() {
  if (found.seconds === null) {
    const why = found.rates.problem?.replace(/^./, (letter) => letter.toUpperCase()) ??
      `There is no formula of the bytes that ${attentionTitle(state.attention)} moves.`
    return { number: "No time", text: why, tone: "var(--s3)" }
  }
  const arithmetic = found.total / found.rates.flops
  const bound = arithmetic >= found.seconds * (1 - 1e-9) ? "arithmetic" : "memory traffic"
  const tokens = state.batch * (state.work === "decode" ? 1 : state.length)
  const rate = show(tokens / found.seconds, "count")
  const [least, most] = found.rates.measured ? ["as expected", ""] : ["at least", " at most"]
  return {
    number: show(found.seconds, "seconds"),
    text: `${least}, by ${found.rates.source}: ${bound} takes it. ` +
      `${rate} tokens a second${most}.`,
    tone: "var(--s3)",
  }
}

function fitting(fit) {
  if (fit === null) return "There is no formula of its memory."
  if (fit.greatest === null) return "Any length fits."
  return fit.greatest ? `${whole(fit.greatest)} tokens fit.` : "Not even one token fits."
}

function ofRival() {
  if (!found.rival) return null
  const share = found.total ? found.rivalTotal / found.total : 1
  const from = found.crossings.flops
  const cheaper = from === null
    ? `${unless(crossing(state, found.rival, state.attention, "flops"),
      "It is never cheaper", "It is not cheaper")}.`
    : from <= 1 ? "It is cheaper at every length." : `It is cheaper from ${whole(from)} on.`
  return {
    number: show(share, "times"),
    text: `the FLOPs with ${attentionTitle(found.rival)} instead. ${cheaper} ` +
      fitting(found.rivalFit),
    tone: "var(--s1)",
  }
}
