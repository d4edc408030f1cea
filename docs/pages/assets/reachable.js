// What scrolls sideways can be scrolled by the keyboard too, and the bar of buttons that the theme
// puts on each block of code is no landmark of the page.
const reach = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, pre > code")) {
    box.tabIndex = 0;
  }
  for (const bar of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    bar.setAttribute("role", "none");
  }
};
reach();
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
