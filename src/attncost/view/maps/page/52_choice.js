// What is chosen: a layer and a head, and in it a query and a key; who wants to know is told.

const choice = { layer: 0, head: 0, query: 0, key: 0 }
// The head that is open: its data, the weights computed from them, and the tokens on either side.
const open = { layer: null, data: null, head: null, queries: null, keys: null }

// Queries and keys are the last tokens of their sequences.
const queryToken = (query) => query + open.queries.tokens.length - open.head.n
const keyToken = (key) => key + open.keys.tokens.length - open.head.m

const listeners = { head: [], place: [], hover: [], view: [], scale: [] }
const when = (event, act) => listeners[event].push(act)
const tell = (event, ...facts) => listeners[event].forEach((act) => act(...facts))

// Queries are the last tokens of their own keys: in a step of a generation, query 0 of the call is
// the newest token, and is named by its position.
const queriesAreKeys = ({ cross, queries, keys, n, m, heads }) =>
  !cross && queries === keys && n < m && !heads[0].weights
const shiftOf = (layer) => (queriesAreKeys(layer) ? layer.m - layer.n : 0)
const positionOf = (query) => query + shiftOf(open.layer)

// Someone may choose a third head before the second is decoded: only the last one wins.
let turn = 0
async function openChosen(wanted) {
  const mine = ++turn
  const layerIndex = within(wanted.layer ?? choice.layer, 0, header.layers.length - 1)
  const layer = header.layers[layerIndex]
  const headIndex = within(wanted.head ?? choice.head, 0, layer.heads.length - 1)
  const head = await openHead(layerIndex, headIndex)
  if (mine !== turn) return
  const data = layer.heads[headIndex]
  const queries = header.sequences[layer.queries]
  const keys = header.sequences[layer.keys]
  const first = open.head === null
  Object.assign(open, { layer, data, head, queries, keys })
  forgetRows()
  Object.assign(choice, { layer: layerIndex, head: headIndex })
  choice.query = wanted.query ?? (first ? firstQuery(head) : choice.query)
  choice.query = within(choice.query, 0, head.n - 1)
  choice.key = within(wanted.key ?? (first ? bestKey(choice.query) : choice.key), 0, head.m - 1)
  tell("head")
  tell("place")
}

// A query past the middle has much to read in any pattern; one that is padding has nothing to say.
function firstQuery({ n, padding: { queries } }) {
  const wanted = Math.floor(n * 0.6)
  if (!queries?.[wanted]) return wanted
  const before = queries.lastIndexOf(0, wanted)
  return before < 0 ? Math.max(queries.indexOf(0), 0) : before
}

const bestKey = (query) => open.head.top(query, 1)[0]?.[0] ?? 0

function choosePlace({ query = choice.query, key = choice.key }) {
  choice.query = within(Math.round(query), 0, open.head.n - 1)
  choice.key = within(Math.round(key), 0, open.head.m - 1)
  tell("place")
}

// A row takes m x d multiplications; a pointer that moves along it asks again and again.
const rows = new Map()
const forgetRows = () => rows.clear()
function rowOf(query) {
  if (!rows.has(query)) {
    if (rows.size > 8) rows.clear()
    rows.set(query, open.head.row(query))
  }
  return rows.get(query)
}

function reading(query, key) {
  const row = rowOf(query)
  const weight = row[key]
  let larger = 0
  let read = 0
  for (const other of row) {
    if (other > weight) larger++
    if (!Number.isNaN(other)) read++
  }
  return { query, key, weight, state: open.head.state(query, key), rank: larger + 1, read }
}
