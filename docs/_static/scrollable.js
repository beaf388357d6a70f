"use strict";
// What is wider than its place can be scrolled with the keyboard too: it takes the focus.
function markScrollable() {
  const boxes = ".table-wrapper, article pre, .slide table, .slide pre, .math-block";
  for (const box of document.querySelectorAll(boxes)) {
    const wide = box.scrollWidth > box.clientWidth;
    if (wide) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  }
}
markScrollable();
window.addEventListener("resize", markScrollable);
document.addEventListener("toggle", markScrollable, true); // what was folded has a size now
