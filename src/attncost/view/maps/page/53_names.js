// How layers and heads are called: as short as tells them apart, and never other than in the model.

/** Return what a layer is called, by its number, or by side and kind where numbers repeat. */
function layerLabel(layer) {
  const alike = header.layers.filter(({ number }) => number === layer.number)
  if (alike.length === 1) return layer.name ? `layer ${layer.number}` : "the model"
  const short = shortLabel(layer)
  const same = alike.filter((other) => shortLabel(other) === short)
  return same.length === 1 && layer.number !== null ? short : moduleName(layer)
}

function shortLabel({ name, number, cross }) {
  const [side = "layer"] = name.match(/encoder|decoder/i) ?? []
  const [, call] = name.match(/\(call (\d+)\)$/) ?? []
  const parts = [`${side.toLowerCase()} ${number}`, cross && "cross", call && `call ${call}`]
  return parts.filter(Boolean).join(", ")
}

/** Return the module of a layer; the one without a name is the model itself. */
const moduleName = ({ name }) => name || "the model"

/** Return what stands in a narrow margin: "d2×" for cross attention, or the number where that is enough. */
function marginLabel(layer) {
  const label = layerLabel(layer)
  if (label === `layer ${layer.number}` || !layer.name) return String(layer.number)
  if (label === moduleName(layer)) return shortName(label)
  return label.replace(/^([a-z])[a-z]* /, "$1").replace(", cross", "×").replace(", call ", ".")
}

// Of "model.blocks.3.attention" the numbers and the first letter say enough in a margin.
function shortName(name) {
  const numbers = name.match(/\d+/g) ?? []
  return numbers.length ? `${name.charAt(0)}${numbers.join(".")}` : name
}

/** Return what a head is called; a matrix that somebody hands over is no head of a model. */
const headLabel = (layer, data) =>
  data.weights ? layer.name : `${layerLabel(layer)}, head ${data.number}`

/** Begin a heading with a capital, unless it begins with the name of a module. */
function headTitle(layer, data) {
  const label = headLabel(layer, data)
  const named = data.weights || layerLabel(layer) === layer.name
  return named ? label : label.charAt(0).toUpperCase() + label.slice(1)
}

/** Return a pattern in words where words are shorter. */
const PATTERNS = { "Causal()": "causal", "Full()": "all keys" }
const patternLabel = (pattern) => PATTERNS[pattern] ?? pattern
