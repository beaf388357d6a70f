"use strict";
// A site of several versions has their names beside their folders (.ci/site): another one is chosen here.
async function offerVersions() {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const names = await (await fetch(new URL("../versions.json", root))).json();
  const own = root.pathname.split("/").at(-2);
  const choice = document.createElement("select");
  choice.append(...names.map((name) => new Option(name, name, name === own, name === own)));
  choice.addEventListener("change", async () => {
    const other = new URL(`../${choice.value}/`, root);
    const page = new URL(location.href.slice(root.href.length), other);
    const found = await fetch(page, { method: "HEAD" }); // a version may lack this page
    location.href = found.ok ? page : new URL("index.html", other);
  });
  const label = document.createElement("label");
  label.className = "versions";
  label.append("Version ", choice);
  document.querySelector(".sidebar-brand").after(label);
}
offerVersions();
