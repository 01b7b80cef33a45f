(() => {
  "use strict";
  const main = document.getElementById("main");
  const live = document.getElementById("live");
  const seconds = Number(main.dataset.refresh);
  const part = { "X-Paceline-Part": "live" };
  const seen = new Map();
  let tag = null;

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const say = (text, isOld) => {
    if (live.textContent !== text) live.textContent = text;
    live.classList.toggle("is-old", isOld);
  };
  const clock = () => new Date().toISOString().slice(11, 19) + " UTC";

  /* Only what changed is put in, what was open stays open, and nobody loses the cursor. */
  const show = (text) => {
    for (const fresh of parse(text).querySelectorAll("[data-part]")) {
      const old = document.getElementById(fresh.id);
      const told = fresh.innerHTML;
      if (!old || seen.get(fresh.id) === told) continue;
      if (!seen.has(fresh.id) && old.innerHTML === told) { seen.set(fresh.id, told); continue; }
      seen.set(fresh.id, told);
      const focus = old.contains(document.activeElement) && document.activeElement.id;
      for (const open of old.querySelectorAll("details[open][id]")) {
        const same = fresh.querySelector("#" + CSS.escape(open.id));
        if (same) same.replaceWith(document.importNode(open, true));
      }
      old.replaceChildren(...fresh.childNodes);
      if (fresh.id === "plots") turn();
      if (focus) document.getElementById(focus)?.focus();
    }
  };

  /* Where a plot is wider than the screen, its newest part is what matters. */
  const turn = () => {
    for (const plot of document.querySelectorAll(".plot")) plot.scrollLeft = plot.scrollWidth;
  };

  const look = async () => {
    if (document.hidden) return;
    try {
      const headers = tag ? { ...part, "If-None-Match": tag } : part;
      const answer = await fetch(location.href, { headers, cache: "no-store", redirect: "error" });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag");
        show(await answer.text());
      } else if (answer.status !== 304) {
        throw new Error(String(answer.status));
      }
      say("live, " + clock(), false);
    } catch {
      if (!live.classList.contains("is-old")) say("not live since " + clock() + ": reload", true);
    }
  };

  /* Raw lines are fetched when somebody opens them. */
  document.addEventListener("toggle", async (event) => {
    const from = event.target.dataset.raw;
    if (!from || !event.target.open) return;
    const place = event.target.querySelector(".raw");
    const answer = await fetch(from, { headers: part, redirect: "error" }).catch(() => null);
    if (!answer || !answer.ok) { place.textContent = "The lines could not be fetched."; return; }
    place.replaceChildren(...parse(await answer.text()).body.childNodes);
  }, true);

  turn();
  setInterval(look, seconds * 1000);
  document.addEventListener("visibilitychange", look);
})();
