"use strict";
// reveal.js shows the slides where the window is wide; elsewhere the deck stays a page to read.

const query = new URLSearchParams(location.search);
const wide = matchMedia("(min-width: 900px) and (min-height: 450px)").matches;
const answers = [...document.querySelectorAll(".answer-fold")];

function present() {
  document.querySelector("main").classList.add("reveal");
  for (const answer of answers) answer.classList.add("fragment", "custom");
  const open = (shown) => ({ fragments }) => fragments.forEach((one) => { one.open = shown; });
  Reveal.on("fragmentshown", open(true));
  Reveal.on("fragmenthidden", open(false));
  Reveal.on("pdf-ready", () => answers.forEach((one) => { one.open = true; }));
  return Reveal.initialize({
    width: 1280, height: 720, margin: 0, center: false, display: "flex",
    hash: true, slideNumber: "c/t", navigationMode: "linear", transition: "none",
    pdfMaxPagesPerSlide: 1, pdfSeparateFragments: false,
    totalTime: 60 * Number(document.querySelector("main").dataset.minutes),
    plugins: [RevealNotes],
  });
}

// The speaker's window shows the deck in small frames, a printer in pages.
if (wide || query.has("receiver") || query.has("print-pdf")) present();
