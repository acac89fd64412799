// Scales that fit what is painted: few heads use six decades, and most of them one or two.

/** Shares of cells that may lie beyond either end. */
const BEYOND = { low: 0.01, high: 0.001 }

/** Ends that lie closer would make noise look like structure. */
const LEAST_FACTOR = 4

/** So many exact weights are enough to know how large weights are. */
const SAMPLED = 1 << 17

/** Labels between the ends keep this far from them, as a share of the scale. */
const APART = 0.22

/** Return the scale between two masses, within what a page can tell apart. */
function fittedScale(low, high) {
  const top = Math.min(1, Math.max(high, LEAST_FACTOR * header.scale.low))
  const bottom = Math.max(header.scale.low, Math.min(low, top / LEAST_FACTOR))
  return new Scale("fitted", bottom, top)
}

/** Return how often each number stands in pooled maps. */
function countsOf(maps) {
  const counts = new Float64Array(256)
  for (const map of maps) for (const number of map) counts[number]++
  return counts
}

/** Return the scale that fits the cells of pooled maps, by how often each number stands there. */
function scaleOfCells(counts) {
  const total = counts.subarray(1).reduce((sum, count) => sum + count, 0)
  if (!total) return fittedScale(header.scale.low, 1)
  const quantile = (share) => {
    let number = 1
    for (let below = counts[1]; below <= share * total && number < 255; ) below += counts[++number]
    return massOf(number)
  }
  return fittedScale(quantile(BEYOND.low), quantile(1 - BEYOND.high))
}

/** Return the scale that fits exact weights of a head, by some of its queries. */
function scaleOfPairs(head) {
  const count = Math.min(head.n, Math.max(4, Math.ceil(SAMPLED / head.m)))
  const weights = []
  for (let z = 0; z < count; z++) {
    const row = head.row(Math.floor(((z + 0.5) * head.n) / count))
    for (const weight of row) if (weight > 0) weights.push(weight)
  }
  if (weights.length === 0) return fittedScale(header.scale.low, 1)
  const sorted = Float32Array.from(weights).sort()
  const quantile = (share) => sorted[Math.floor(share * (sorted.length - 1))]
  return fittedScale(quantile(BEYOND.low), quantile(1 - BEYOND.high))
}

const fits = new WeakMap()

/** Return the scale in which a head is painted: exact pairs, or blocks of its pooled map. */
function scaleOf(head, exact) {
  if (!scale.open) return scale
  if (!fits.has(head)) fits.set(head, {})
  const known = fits.get(head)
  if (exact || !head.map) return (known.pairs ??= scaleOfPairs(head))
  return (known.cells ??= scaleOfCells(countsOf([head.map.values])))
}

/** Return labels of a fitted scale: both ends, and round numbers between them. */
function fittedStops(by) {
  const rounds = [[1], [1, 3], [1, 2, 5]].map((digits) => roundsWithin(by, digits))
  const inner = rounds.find(({ length }) => length > 1) ?? rounds[2]
  const label = (value) => (value < 1e-3 ? scientific(value) : String(Number(value.toPrecision(2))))
  return [
    { value: by.low, label: `≤ ${label(by.low)}` },
    ...inner.map((value) => ({ value, label: label(value) })),
    { value: by.high, label: label(by.high) === "1" ? "1" : `≥ ${label(by.high)}` },
  ]
}

function roundsWithin(by, digits) {
  const found = []
  for (let power = Math.floor(Math.log10(by.low)); power <= 0; power++) {
    for (const digit of digits) {
      const value = digit * 10 ** power
      const share = by.share(value)
      if (share > APART && share < 1 - APART) found.push(value)
    }
  }
  return found
}

function scientific(value) {
  const [digits, power] = value.toExponential(1).split("e")
  const shown = Number(digits)
  return shown === 1 ? powerOfTen(Number(power)) : `${shown} · 10${superscript(Number(power))}`
}
