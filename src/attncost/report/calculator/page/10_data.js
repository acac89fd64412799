// The page's data: settings, formulas and models, as Python wrote them, deflated. Formulas come with
// their common parts and names written once, and here every part is put back, each as one object.

async function inflatedHeader() {
  const text = atob(document.getElementById("attncost-calculator").textContent.trim())
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
  return JSON.parse(await new Response(stream).text())
}

const header = await inflatedHeader()

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
const codes = new Map(header.names.map((name, place) => {
  const more = Math.floor(place / 52)
  return [(more ? LETTERS[more - 1] : "") + LETTERS[place % 52], name]
}))
const whollyShared = []

function putBack(tree) {
  if (Array.isArray(tree)) {
    const kept = tree[0] === "case" ? 2 : 1
    return [...tree.slice(0, kept), ...tree.slice(kept).map(putBack)]
  }
  if (typeof tree !== "string") return tree
  return tree.startsWith("#") ? whollyShared[Number(tree.slice(1))] : codes.get(tree) ?? tree
}

for (const part of header.shared) whollyShared.push(putBack(part))
for (const one of Object.values(header.quantities)) one.tree = putBack(one.tree)
for (const one of header.presets) one.state = { ...header.plain, ...one.state }

// The words of a choice in the order in which formulas have a case for each.
const wordsOf = new Map([
  ...header.choices.map(({ name, options }) => [name, options.map((one) => one.name)]),
  ["attention", header.attentions.map(({ name }) => name)],
  ...header.followed.map((name) => [name, ["off", "on"]]),
])

const attentionOf = (state) => header.attentions.find(({ name }) => name === state.attention)

function chosenIn(state, choice) {
  if (choice in attentionOf(state).follows) return attentionOf(state).follows[choice]
  return state[choice]
}
