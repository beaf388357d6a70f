"use strict";
// The page's side of its steppers: it tells them its theme, and brings the one into view that a link opens.

const there = new WeakSet(); // frames whose stepper has said that it is loaded
const frames = () => [...document.querySelectorAll("figure.stepper > iframe")];

function tellTheme(target) {
  const theme = document.body.dataset.theme || "auto";
  target.postMessage({ theme }, "*"); // a page opened from a file has no origin to name
}

window.addEventListener("message", (event) => {
  const frame = frames().find((one) => one.contentWindow === event.source);
  if (!frame) return;
  there.add(frame);
  tellTheme(event.source);
});
frames().forEach((frame) => frame.contentWindow.postMessage({ who: true }, "*")); // loaded before
new MutationObserver(() => frames().forEach((frame) => tellTheme(frame.contentWindow)))
  .observe(document.body, { attributeFilter: ["data-theme"] });

document.addEventListener("click", (event) => {
  const link = event.target.closest('a.step[target^="stepper-"]');
  const frame = link && frames().find((one) => one.name === link.target);
  if (!frame) return;
  frame.scrollIntoView({ block: "nearest" });
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const step = Number(new URL(link.href).hash.slice(1));
  if (!plain || !there.has(frame) || !step) return; // the browser follows the link
  event.preventDefault(); // the same link again leads there too, and Back leaves the page
  frame.contentWindow.postMessage({ step }, "*");
});
