// The pages are light or dark as the reader's system is.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {
  document.documentElement.dataset.bsTheme = dark.matches ? "dark" : "light";
};
dark.addEventListener("change", follow);
follow();
