"use strict";
document.documentElement.classList.add("scripted");
for (const explorer of document.querySelectorAll(".explorer")) {
  const slider = explorer.querySelector(".slider");
  const range = explorer.querySelector("input");
  const stops = explorer.querySelectorAll(".stop");
  const show = () => {
    const chosen = range.valueAsNumber;
    stops.forEach((stop, i) => { stop.hidden = i !== chosen; });
    const said = stops[chosen].querySelector("h3").textContent;
    explorer.querySelector("output").value = said;
    range.setAttribute("aria-valuetext", said);
  };
  range.addEventListener("input", show);
  slider.hidden = false;
  show();
}
