// One head, exact at any length: weights are computed again from q, k and log-sum-exp.
//
//     weight(i, j) = exp(softcap(scale q_i . k_j) + bias - alibi |i + m - n - j| - lse_i)
//
// A tile costs its pairs times the width of the head, so nobody ever holds n x m numbers. Queries
// and keys were rounded to 16 bits, and log-sum-exp belongs to the rounded ones. A pair that is
// not read has the weight NaN, so that nobody takes it for a weight of 0.

/** Return a head of a layer, both by their index in the header. */
async function openHead(layerIndex, headIndex) {
  const layer = header.layers[layerIndex]
  const head = layer.heads[headIndex]
  const [weights, map, reads, queries, keys] = await Promise.all([
    head.weights ? heldWeights(layer, head) : computedWeights(layer, headIndex),
    decodedOrNull(head.map),
    head.weights ? null : readsOf(layer),
    decodedOrNull(header.sequences[layer.queries].padded),
    decodedOrNull(header.sequences[layer.keys].padded),
  ])
  return new Head({ layer, head, weights, map, reads, padding: { queries, keys } })
}

/** A matrix of weights that the page holds as it is, NaN where masked. */
async function heldWeights({ m }, head) {
  const held = await decoded(head.weights)
  return {
    fill(out, [row0, row1, key0, key1]) {
      for (let i = row0, z = 0; i < row1; i++, z += key1 - key0) {
        out.set(held.subarray(i * m + key0, i * m + key1), z)
      }
    },
    state: (i, j) => (Number.isNaN(held[i * m + j]) ? "masked" : "read"),
  }
}

class Head {
  constructor({ layer, head, weights, map, reads, padding }) {
    this.layer = layer
    this.head = head
    this.n = layer.n
    this.m = layer.m
    this.map = map && { values: map, rows: head.map.shape[0], columns: head.map.shape[1] }
    this.padding = { queries: lastOf(padding.queries, this.n), keys: lastOf(padding.keys, this.m) }
    this.documents = {
      queries: bordersOf(header.sequences[layer.queries], this.n),
      keys: bordersOf(header.sequences[layer.keys], this.m),
    }
    this.#weights = weights
    this.#reads = reads
  }

  #weights
  #reads

  /** Return exact weights of queries row0 ... row1 - 1 with keys key0 ... key1 - 1, row by row. */
  tile(row0, row1, key0, key1) {
    const out = new Float32Array((row1 - row0) * (key1 - key0)).fill(NaN)
    this.#weights.fill(out, [row0, row1, key0, key1])
    this.#hidePadded(out, [row0, row1, key0, key1])
    return out
  }

  /** Return one exact weight, NaN where it is not read. */
  weight(i, j) {
    return this.tile(i, i + 1, j, j + 1)[0]
  }

  /** Return the exact weights of one query. */
  row(i) {
    return this.tile(i, i + 1, 0, this.m)
  }

  /** Return the keys that a query reads most, each with its weight, the largest first. */
  top(i, count) {
    const weights = this.row(i)
    const best = []
    for (let j = 0; j < weights.length; j++) {
      if (!(weights[j] > (best.length < count ? -1 : best[count - 1][1]))) continue
      let place = best.length
      while (place > 0 && best[place - 1][1] < weights[j]) place--
      best.splice(place, 0, [j, weights[j]])
      if (best.length > count) best.pop()
    }
    return best
  }

  /** Say whether a pair is read, masked, or has padding on either side. */
  state(i, j) {
    if (this.padding.keys?.[j] || this.padding.queries?.[i]) return "padded"
    if (this.#reads) return this.#reads.has(i, j) ? "read" : "masked"
    return this.#weights.state?.(i, j) ?? "read"
  }

  /** Return the mean mass that a query of a block gives to a block of keys, NaN if none is read. */
  mapAt(row, column) {
    return massOf(this.map.values[row * this.map.columns + column])
  }

  #hidePadded(out, [row0, row1, key0, key1]) {
    const width = key1 - key0
    const { queries, keys } = this.padding
    if (queries) {
      for (let i = row0; i < row1; i++) {
        if (queries[i]) out.fill(NaN, (i - row0) * width, (i - row0 + 1) * width)
      }
    }
    if (!keys) return
    for (let j = key0; j < key1; j++) {
      if (keys[j]) for (let z = j - key0; z < out.length; z += width) out[z] = NaN
    }
  }
}

/** Return the mass that a number of a pooled map stands for. */
function massOf(number) {
  const { low } = header.scale
  return number ? low * (1 / low) ** ((number - 1) / 254) : NaN
}

/** Return the end of an array, which belongs to the last tokens: they are those of this call. */
function lastOf(array, count) {
  return array && array.subarray(array.length - count)
}

/** Return where documents begin among the last tokens of a sequence, the first one left out. */
function bordersOf({ tokens, documents }, count) {
  const hidden = tokens.length - count
  return (documents ?? []).map((first) => first - hidden).filter((first) => first > 0)
}
