// Make elements that scroll sideways reachable by keyboard, and remove the landmark role from the
// theme's button bar on each code block.
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
