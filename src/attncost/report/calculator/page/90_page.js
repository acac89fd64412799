// The page as a whole: how it begins, what it says at its foot, what paper gets instead of sliders.

const first = { head_dim_held: false, preset: "", ...header.start }

function makeFrame() {
  const others = header.inexpressible ?? []
  byId("notes").replaceChildren(
    ...(header.notes ?? []).map((note) => element("p", {}, note)),
    ...(others.length
      ? [element("details", {}, element("summary", {}, "Models that these sizes do not express"),
          ...others.map(({ reason }) => element("p", {}, reason)))]
      : []))
  byId("version").textContent =
    `Made by attncost ${header.version}, from the formulas that its commands use. It sends nothing.`
  byId("main").hidden = false
}

// Settings as a list, since a slider says nothing on paper.
function drawPrinted() {
  const shown = [...dials].filter(([name]) => matters(name))
  byId("printed").replaceChildren(...shown.map(([name, { row, size }]) => {
    const value = size ? spoken(state[name], size.unit) : byId(name).selectedOptions[0].text
    return element("p", {}, `${row.querySelector("label").firstChild.textContent}: ${value}`)
  }))
}

function begin() {
  if (header.schema !== "attncost.calculator/1") {
    throw new Error(`this page reads attncost.calculator/1, its data are ${header.schema}.`)
  }
  Object.assign(state, first)
  makeFrame()
  changed(work)
  makeModels()
  makeSettings()
  makeCurves()
  changed(answers)
  changed(drawParts, byId("parts"))
  changed(drawFormulas, byId("formulas"))
  changed(drawTable, byId("table"))
  changed(drawCommands, byId("commands"))
  changed(drawPrinted, byId("printed"))
  addEventListener("beforeprint", rest)
  makeExports()
  makeShortcuts()
  fromAddress()
  makePermalink()
}

addEventListener("error", ({ error, message }) => fail(error ?? message))
addEventListener("unhandledrejection", ({ reason }) => fail(reason))

// The page's own console: `attncost.set({ length: 65536 })`, then `attncost.found`.
globalThis.attncost = {
  header, state, set, found, rest, show, read, typed, exact, approximate, begun: false,
}
try {
  begin()
  globalThis.attncost.begun = true
} catch (error) {
  fail(error)
}
