// Keys that work anywhere on the page. They can be switched off: someone who dictates would press
// them by speaking (WCAG 2.1.4).

const ANYWHERE = {
  n: () => byId("length").focus(),
  "[": () => step("length", -1),
  "]": () => step("length", 1),
  a: () => byId("attention").focus(),
  c: () => byId("compared").focus(),
  p: () => byId("preset").focus(),
  r: () => reset(),
  "?": () => byId("shortcuts").showModal(),
}

const SHORTCUTS = [
  ["[ ]", "shorter and longer *"],
  ["n", "to the box of the length *"],
  ["a c", "to the attention, and to what it is compared with *"],
  ["p", "to the models *"],
  ["r", "everything as at first *"],
  ["?", "these shortcuts *"],
  ["← →", "in a slider: less and more"],
  ["Home End", "in a slider: least and most"],
  ["Esc", "in a box: the last good number"],
]

function step(name, by) {
  const slider = byId(`${name}-slider`)
  slider.value = Number(slider.value) + by
  slider.dispatchEvent(new Event("input"))
}

const typing = (target) =>
  target.closest("input:not([type=range], [type=checkbox]), select, dialog") !== null

function makeShortcuts() {
  byId("shortcut-rows").append(...SHORTCUTS.map(([keys, says]) =>
    element("tr", {},
      element("th", { scope: "row" }, ...keys.split(" ").map((key) => element("kbd", {}, key))),
      element("td", {}, says))))
  byId("help").addEventListener("click", () => byId("shortcuts").showModal())
  document.addEventListener("keydown", (event) => {
    if (!byId("single-keys").checked || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.defaultPrevented || typing(event.target)) return
    if (!Object.hasOwn(ANYWHERE, event.key)) return
    event.preventDefault()
    ANYWHERE[event.key]()
  })
}
