// Keys that work anywhere on the page. They can be switched off: someone who dictates would press
// them by speaking (WCAG 2.1.4).

const ANYWHERE = {
  "[": () => stepHead(-1),
  "]": () => stepHead(1),
  "{": () => stepLayer(-1),
  "}": () => stepLayer(1),
  "/": () => byId("wanted").focus(),
  n: () => stepFound(1),
  N: () => stepFound(-1),
  m: () => byId("map").focus(),
  "?": () => byId("shortcuts").showModal(),
}

const SHORTCUTS = [
  ["[ ]", "previous and next head *"],
  ["{ }", "previous and next layer *"],
  ["/", "find a token *"],
  ["n N", "next and previous occurrence *"],
  ["m", "to the map *"],
  ["?", "these shortcuts *"],
  ["← ↑ → ↓", "in the map: another query or key; in the heads, the text, the image: move"],
  ["Shift ← ↑ → ↓", "in the map: almost a whole view"],
  ["+ −", "in the map: zoom in and out"],
  ["0", "in the map: the whole map"],
  ["Home End", "in the map and the text: first and last"],
  ["Esc", "in the map: hide the chosen query"],
]

function makeShortcuts() {
  byId("shortcut-rows").append(
    ...SHORTCUTS.map(([keys, says]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, ...keys.split(" ").map((key) => element("kbd", {}, key))),
        element("td", {}, says),
      ),
    ),
  )
  byId("help").addEventListener("click", () => byId("shortcuts").showModal())
  document.addEventListener("keydown", (event) => {
    if (!byId("single-keys").checked || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.defaultPrevented || typing(event.target)) return
    if (!Object.hasOwn(ANYWHERE, event.key)) return
    event.preventDefault()
    ANYWHERE[event.key]()
  })
}

const typing = (target) => target.closest("input, select, textarea, dialog") !== null
