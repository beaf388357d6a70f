"use strict";
// Words that name a kind of shape light these shapes in a drawing, and the shapes light the words.

for (const word of document.querySelectorAll(".lit")) {
  const [drawing, kind] = word.classList[1].split(":");
  const shapes = document.querySelectorAll(`figure.of-${drawing} .d-${kind}`);
  const light = (on) => [word, ...shapes].forEach((one) => one.classList.toggle("is-lit", on));
  for (const one of [word, ...shapes]) {
    one.addEventListener("pointerenter", () => light(true));
    one.addEventListener("pointerleave", () => light(false));
  }
}
