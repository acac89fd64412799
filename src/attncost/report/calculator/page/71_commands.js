// The commands that print what is shown, to copy.

function drawCommands() {
  byId("commands").replaceChildren(...commands(state).map(({ title, command, note }) =>
    element("div", {},
      element("p", { class: "note" }, title),
      element("div", { class: "command" }, element("code", {}, command),
        element("button", { type: "button", "aria-label": `Copy: ${title}`,
          onclick: ({ currentTarget }) => copied(command, currentTarget) }, "Copy")),
      ...(note ? [element("p", { class: "note" }, note)] : []))))
}
