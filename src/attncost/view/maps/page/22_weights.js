// The inner loops of a tile: products of two queries with four keys at a time.
//
// Six numbers are loaded for eight multiply-adds, and nothing is allocated; sums are float64, as
// all of JavaScript's are, so that only the rounding of q and k remains. Rows of one pair are
// multiplied over the hull of what they read in the tile, so a masked corner costs nothing.

/** Return what computes the weights of a head. */
async function computedWeights(layer, headIndex) {
  const head = layer.heads[headIndex]
  const [q, k, lse, bias, reads] = await Promise.all([
    decoded(head.q),
    decoded(layer.keys_of[head.group]),
    decoded(head.lse),
    biasOf(layer, headIndex),
    readsOf(layer),
  ])
  const soften = { scale: layer.scale, softcap: layer.softcap }
  const slope = layer.alibi?.[headIndex] ?? 0
  const adds = bias || slope ? { bias, slope, shift: layer.m - layer.n } : null
  return new Weights({ q, k, d: layer.d, lse, reads, soften, adds })
}

class Weights {
  constructor(parts) {
    Object.assign(this, parts)
  }

  /** Write the weights of a tile where they are read; what is not read is left as it is. */
  fill(out, [row0, row1, key0, key1]) {
    const width = key1 - key0
    const scores = new Float64Array(2 * width)
    for (let i = row0; i < row1; i += 2) {
      const rows = Math.min(2, row1 - i)
      const [low, high] = this.reads ? this.reads.hull(i, i + rows, key0, key1) : [key0, key1]
      if (low >= high) continue
      products(this, scores, i, rows, low, high)
      for (let row = 0; row < rows; row++) {
        const place = { scores, at: row * (high - low) - low, z: (i - row0 + row) * width - key0 }
        this.#spread(out, i + row, low, high, place)
      }
    }
  }

  #spread(out, i, low, high, place) {
    if (!this.reads) return this.#span(out, i, low, high, place)
    const { reads } = this
    for (let s = reads.from(i, low), end = reads.end(i); s < end; s++) {
      const begin = Math.max(low, reads.begins(s))
      if (begin >= high) return
      this.#span(out, i, begin, Math.min(high, reads.ends(s)), place)
    }
  }

  #span(out, i, begin, end, { scores, at, z }) {
    const lse = this.lse[i]
    // A row that reads nothing has no weights, and exp(-inf + inf) would be no number.
    if (lse === -Infinity) return out.fill(0, z + begin, z + end)
    const { scale, softcap } = this.soften
    if (softcap) {
      for (let j = begin; j < end; j++) {
        scores[at + j] = softcap * Math.tanh((scores[at + j] * scale) / softcap)
      }
    }
    if (this.adds) add(this.adds, scores, at, i, begin, end, softcap ? 1 : scale)
    const factor = softcap || this.adds ? 1 : scale
    for (let j = begin; j < end; j++) out[z + j] = Math.exp(scores[at + j] * factor - lse)
  }
}

/** Scale scores of one query, add its bias and take off its distances. */
function add({ bias, slope, shift }, scores, at, i, begin, end, scale) {
  for (let j = begin; j < end; j++) {
    scores[at + j] = scores[at + j] * scale - slope * Math.abs(i + shift - j)
  }
  if (!bias) return
  const first = bias.first + bias.step * i
  for (let j = begin; j < end; j++) scores[at + j] += bias.values[first + j]
}

/** Write q_i . k_j for one or two queries and keys low ... high - 1, the second row after the first. */
function products({ q, k, d }, scores, i, rows, low, high) {
  const width = high - low
  const a = i * d
  // A lone row is multiplied twice; it is written last by itself, so the answer is the same.
  const b = rows === 2 ? a + d : a
  const second = rows === 2 ? width : 0
  let j = low
  for (; j + 4 <= high; j += 4) {
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0
    let b0 = 0, b1 = 0, b2 = 0, b3 = 0
    const k0 = j * d, k1 = k0 + d, k2 = k1 + d, k3 = k2 + d
    for (let f = 0; f < d; f++) {
      const x = q[a + f]
      const y = q[b + f]
      let t = k[k0 + f]
      a0 += x * t
      b0 += y * t
      t = k[k1 + f]
      a1 += x * t
      b1 += y * t
      t = k[k2 + f]
      a2 += x * t
      b2 += y * t
      t = k[k3 + f]
      a3 += x * t
      b3 += y * t
    }
    const z = j - low
    scores[z] = a0
    scores[z + 1] = a1
    scores[z + 2] = a2
    scores[z + 3] = a3
    scores[z + second] = b0
    scores[z + second + 1] = b1
    scores[z + second + 2] = b2
    scores[z + second + 3] = b3
  }
  for (; j < high; j++) {
    let x = 0, y = 0
    for (let f = 0; f < d; f++) {
      x += q[a + f] * k[j * d + f]
      y += q[b + f] * k[j * d + f]
    }
    scores[j - low] = x
    scores[j - low + second] = y
  }
}

/** Return where the bias of a head lies: for query i and key j at first + step i + j. */
async function biasOf({ bias, n, m }, headIndex) {
  if (!bias) return null
  const values = await decoded(bias.rows)
  const head = bias.rows.shape[0] === 1 ? 0 : headIndex
  if (bias.kind === "diagonal") return { values, first: head * (n + m - 1) + n - 1, step: -1 }
  const rows = bias.rows.shape[1]
  return { values, first: head * rows * m, step: rows === 1 ? 0 : m }
}
