// What is looked at stands in the address, so that it can be sent to someone and found again.

const WHOLE = ["layer", "head", "query", "key"]

function fromAddress() {
  const said = new URLSearchParams(location.hash.slice(1))
  const wanted = {}
  for (const name of [...WHOLE, "zoom"]) {
    const value = said.get(name)
    if (value !== null && value !== "" && Number(value) >= 0 && Number(value) < Infinity) {
      wanted[name] = name === "zoom" ? Number(value) : Math.floor(Number(value))
    }
  }
  if (["fitted", "log", "linear"].includes(said.get("scale"))) wanted.scale = said.get("scale")
  return wanted
}

function address() {
  const { zoom } = map.view
  const said = new URLSearchParams()
  for (const name of WHOLE) said.set(name, choice[name])
  said.set("zoom", Number(zoom.toPrecision(4)))
  said.set("scale", byId("scale").value)
  return `#${said}`
}

let writing = 0
function writeAddress() {
  clearTimeout(writing)
  writing = setTimeout(() => {
    if (!open.head || address() === location.hash) return
    try {
      history.replaceState(null, "", address())
    } catch (error) {
      // In a frame without an address of its own there is nothing to write.
      if (!(error instanceof DOMException)) throw error
      byId("copy-link").hidden = true
    }
  }, 250)
}

async function go(wanted) {
  if (wanted.scale) scaleBy(wanted.scale)
  const { layer = choice.layer, head = choice.head } = wanted
  const other = layer !== choice.layer || head !== choice.head || !open.head
  if (other) await openChosen({ ...wanted, layer, head })
  else choosePlace(wanted)
  if (wanted.zoom !== undefined) map.goTo(choice.query, choice.key, wanted.zoom)
}

function makePermalink() {
  for (const event of ["head", "place", "view", "scale"]) when(event, writeAddress)
  addEventListener("hashchange", () => {
    const wanted = fromAddress()
    if (Object.keys(wanted).length) go(wanted).catch(fail)
  })
}
