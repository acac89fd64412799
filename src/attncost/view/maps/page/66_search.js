// Finding tokens: every occurrence of some words, one after the other.

const search = { words: null, side: "query", places: [], at: -1 }

function makeSearch() {
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault()
    stepFound(1)
  })
  byId("found-before").addEventListener("click", () => stepFound(-1))
  byId("wanted").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return
    event.preventDefault()
    stepFound(-1)
  })
  byId("wanted").addEventListener("input", lookFor)
  byId("wanted-as").addEventListener("input", lookFor)
  when("head", () => {
    if (byId("wanted").value) lookFor()
  })
}

function lookFor() {
  const words = byId("wanted").value
  const side = byId("wanted-as").value
  const [sequence, first, count] =
    side === "query"
      ? [open.queries, queryToken(0), open.head.n]
      : [open.keys, keyToken(0), open.head.m]
  const places = occurrences(sequence, words)
    .map((token) => token - first)
    .filter((place) => place >= 0 && place < count)
  Object.assign(search, { words, side, places, at: -1 })
  byId("found").textContent = words === "" ? "" : counted(places.length)
}

const counted = (count) => (count === 0 ? "not found" : `${count.toLocaleString("en")} found`)

function stepFound(step) {
  const { places, at } = search
  if (places.length === 0) return
  search.at = at < 0 && step < 0 ? places.length - 1 : (at + step + places.length) % places.length
  byId("found").textContent = `${search.at + 1} of ${places.length.toLocaleString("en")}`
  choosePlace({ [search.side]: places[search.at] })
}
