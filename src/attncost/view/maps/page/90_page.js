// The page as a whole: what stands at its head and foot, what is printed, and how it begins.

function makeFrame() {
  byId("title").textContent = header.title
  byId("subtitle").textContent = header.subtitle ?? ""
  byId("command").textContent = header.command ?? ""
  byId("command").parentElement.hidden = !header.command
  byId("notes").replaceChildren(...(header.notes ?? []).map((note) => element("p", {}, note)))
  byId("version").textContent = `Made by attncost ${header.version}.`
  const most = Math.max(...header.layers.map(({ heads }) => heads.length))
  const single = header.layers.length === 1 && most === 1
  byId("overview").hidden = single
  byId("which").hidden = single
  byId("main").className = single ? "single" : most > 16 ? "stacked" : "beside"
  byId("main").hidden = false
}

// Paper shows the open head as a drawing of its own: letters instead of pixels, black on white.
function makePrinting() {
  addEventListener("beforeprint", () => {
    if (!open.head || !map.view.zoom) return
    byId("printed").replaceChildren(figureElement(figureShapes(PAPER)))
  })
}

// A canvas keeps the colours and the size it was drawn with.
function makeFollowing() {
  const again = () => {
    if (!open.head) return
    drawAxes(map.view)
    drawLegend()
    drawMinimap(map.view)
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again)
  addEventListener("resize", again)
}

async function begin() {
  if (header.schema !== "attncost.maps/1") {
    throw new Error(`this page reads attncost.maps/1, its data are ${header.schema}.`)
  }
  makeFrame()
  makeOverview()
  makeArrangement()
  makeHead()
  makeAxes()
  makeReading()
  makeTexts()
  makeMeasures()
  makePicture()
  makeSearch()
  makeExports()
  makeShortcuts()
  makePrinting()
  makeFollowing()
  scaleBy("fitted")
  const wanted = { layer: 0, head: 0, ...fromAddress() }
  await go(wanted)
  makePermalink()
}

addEventListener("error", ({ error, message }) => fail(error ?? message))
addEventListener("unhandledrejection", ({ reason }) => fail(reason))

// The page's own console: `await attncost.ready`, then for example
// `attncost.go({ layer: 2, head: 5, query: 100 })`; numbers of layers and heads are places, from 0.
globalThis.attncost = {
  maps: header,
  head: openHead,
  go,
  get view() {
    return { ...choice, zoom: map.view.zoom, scale: byId("scale").value, sight: map.view }
  },
  ready: begin(),
}
globalThis.attncost.ready.catch(fail)
