// How tokens are shown and found. Whitespace is made visible, whether it came as itself or as the
// mark that a tokenizer writes in its place.

const SPACES = {
  " ": "␣",
  "\u00a0": "␣",
  "\n": "↵",
  "\r": "↵",
  "\t": "⇥",
  "\u200b": "∅",
}
const MARKED_FROM = 1 / 8

// "Ġ" is also a letter: it is a mark only where many tokens begin with it.
const markings = new WeakMap()
function marked(sequence) {
  if (!markings.has(sequence)) {
    const count = sequence.tokens.filter((token) => token.startsWith("Ġ")).length
    markings.set(sequence, count >= MARKED_FROM * sequence.tokens.length)
  }
  return markings.get(sequence)
}

function plainToken(sequence, position) {
  const token = sequence.tokens[position] ?? ""
  const spaced = token.replace(/▁/g, " ")
  return marked(sequence) ? spaced.replace(/Ġ/g, " ").replace(/Ċ/g, "\n") : spaced
}

// Control characters have pictures of their own in Unicode.
const pictured = (sign) =>
  SPACES[sign] ?? (sign === "\u007f" ? "␡" : String.fromCharCode(0x2400 + sign.charCodeAt(0)))

function shownToken(sequence, position) {
  const shown = plainToken(sequence, position).replace(
    // Names of patches are made by us, and their spaces are spaces.
    sequence.grid ? /[\u0000-\u001f\u007f]/g : /[\u0000-\u0020\u007f\u00a0\u200b]/g,
    pictured,
  )
  if (shown !== "") return shown
  return position < sequence.tokens.length ? "∅" : String(position)
}

// Cut by what a reader sees as one sign, so that no emoji is halved.
const signs = new Intl.Segmenter(undefined, { granularity: "grapheme" })
function shortToken(sequence, position, most = 16) {
  const shown = shownToken(sequence, position)
  if (shown.length <= most) return shown
  const parts = Array.from(signs.segment(shown.slice(0, 8 * most)), ({ segment }) => segment)
  return parts.length <= most ? parts.join("") : `${parts.slice(0, most - 1).join("")}…`
}

const quoted = (sequence, position) => `“${shortToken(sequence, position, 24)}”`

// What is looked for may span tokens: the text is joined as it is read, word pieces without "##".
const joins = new WeakMap()
function joined(sequence) {
  if (!joins.has(sequence)) {
    const pieces = sequence.tokens.some((token) => token.startsWith("##"))
    const starts = []
    let text = ""
    sequence.tokens.forEach((token, position) => {
      const plain = plainToken(sequence, position).toLowerCase()
      const continues = pieces && plain.startsWith("##")
      if (pieces && !continues) text += " "
      starts.push(text.length)
      text += continues ? plain.slice(2) : plain
    })
    joins.set(sequence, { text, starts })
  }
  return joins.get(sequence)
}

function tokenAt(starts, place) {
  let low = 0
  let high = starts.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (starts[middle] <= place) low = middle
    else high = middle
  }
  return low
}

function occurrences(sequence, words) {
  const wanted = words.toLowerCase()
  if (wanted === "") return []
  const found = new Set()
  const { text, starts } = joined(sequence)
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    found.add(tokenAt(starts, at))
  }
  sequence.tokens.forEach((token, position) => {
    if (token.toLowerCase().includes(wanted)) found.add(position)
  })
  return [...found].sort((one, other) => one - other)
}
